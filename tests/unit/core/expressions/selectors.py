"""Selectors of devices, and what they are for one device: None where the value cannot be known.

``tests/controlplane/placement/test_oracle_claims.py`` asks the real kube-scheduler the same. The
forms are those that tests of k8s.io/dynamic-resource-allocation v0.36.3, cel/compile_test.go,
cover.
"""

from typing import Any, Final

DRIVER: Final = "gpu.example.com"
ATTRIBUTES: Final[dict[str, Any]] = {
    "model": {"string": "A100-SXM"},
    "index": {"int": 3},
    "mig": {"bool": True},
    "driverVersion": {"version": "550.90.7"},
    "other.example.com/zone": {"string": "a b"},
}
CAPACITY: Final[dict[str, Any]] = {"memory": {"value": "40Gi"}, "slices": {"value": "7"}}

_A: Final = f'device.attributes["{DRIVER}"]'
_C: Final = f'device.capacity["{DRIVER}"]'

SELECTORS: Final[dict[str, bool | None]] = {
    f'device.driver == "{DRIVER}"': True,
    'device.driver != "x"': True,
    f'{_A}.model == "A100-SXM"': True,
    f'{_A}["model"] == "A100-SXM"': True,
    f'{_A}.model in ["H100", "A100-SXM"]': True,
    f"{_A}.index in [1, 2]": False,
    f'"model" in {_A}': True,
    f'"none" in {_A}': False,
    '"zone" in device.attributes["other.example.com"]': True,
    '"zone" in device.attributes["nothing.example.com"]': False,
    f"has({_A}.model) && !has({_A}.none)": True,
    f'{_A}.none == "x"': None,
    f'{_A}.none == "x" || {_A}.mig': True,
    f'false && {_A}.none == "x"': False,
    f'{_A}.index == "3"': False,
    f"{_A}.index == 3.0": True,
    f"{_A}.index > 2 && {_A}.index <= 3": True,
    f"{_A}.index + 1 == 4 && {_A}.index % 2 == 1 && -{_A}.index / 2 == -1": True,
    f"{_A}.mig ? {_A}.index == 3 : false": True,
    f"{_A}.mig": True,
    f"!{_A}.mig": False,
    f'{_A}.model.startsWith("A100") && {_A}.model.endsWith("SXM")': True,
    f'{_A}.model.contains("00-") && size({_A}.model) == 8': True,
    f'{_A}.model.lowerAscii().matches("^.*a100.*$")': True,
    f'{_A}.model.matches("^A1[0-9]+$")': False,
    f'{_A}.model.split("-")[1] == "SXM" && {_A}.model.replace("-", "") == "A100SXM"': True,
    f'{_C}.memory.compareTo(quantity("40Gi")) == 0': True,
    f'{_C}.memory.isGreaterThan(quantity("39.5Gi")) && {_C}.slices.asInteger() == 7': True,
    f'{_C}.memory.isLessThan(quantity("10G"))': False,
    f'sign({_C}.memory.sub(quantity("40Gi"))) == 0': True,
    f'{_C}.none.compareTo(quantity("1")) > 0': None,
    f'{_A}.driverVersion.compareTo(semver("535.0.0")) > 0': True,
    f'{_A}.driverVersion.isLessThan(semver("550.90.8-rc.1"))': True,
    f"{_A}.driverVersion.major() == 550 && {_A}.driverVersion.patch() == 7": True,
    'semver("v1.2", true).minor() == 2 && isSemver("1.2") == false': True,
    'isQuantity("1Gi") && !isQuantity("1 Gi")': True,
    f"cel.bind(g, {_A}, g.mig && g.index == 3)": True,
    f'{_A}.?model.orValue("") == "A100-SXM" && {_A}.?none.orValue(5) == 5': True,
    f"{_A}.?none.hasValue()": False,
    f'["A", "B"].exists(x, {_A}.model.startsWith(x)) && [1, 2].all(x, x < {_A}.index)': True,
    "[1, 2, 3].filter(x, x > 1).map(x, x * 2) == [4, 6]": True,
    f"[3, 4].exists_one(x, x == {_A}.index)": True,
    'device.attributes["other.example.com"].zone == "a\\x20b"': True,
}
"""For the device of driver ``DRIVER`` with ``ATTRIBUTES`` and ``CAPACITY``."""
