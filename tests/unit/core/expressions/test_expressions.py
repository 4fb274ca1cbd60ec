"""Selectors have the value that they have in kube-scheduler, in a bounded number of steps."""

import json

import pytest

from extender.core.expressions import evaluation, paths, patterns, syntax
from extender.core.expressions.errors import EvaluationError, UnsupportedError
from extender.core.expressions.evaluation import Scope, Subject
from extender.core.expressions.values import Quantity, Semver
from extender.core.nodes.device_kinds import Kind, Selections
from shared.kube import devices
from shared.objects.devices import Device
from tests.unit.core.expressions.selectors import ATTRIBUTES, CAPACITY, DRIVER, SELECTORS


def read_device() -> Device:
    device = {"name": "gpu-0", "attributes": ATTRIBUTES, "capacity": CAPACITY}
    body = {"metadata": {"name": "s"}, "spec": {"driver": DRIVER, "devices": [device]}}
    return devices.decode_slice(json.dumps(body).encode()).devices[0]


@pytest.mark.parametrize(("expression", "expected"), SELECTORS.items(), ids=SELECTORS)
def test_a_selector_has_its_value(expression: str, expected: bool | None) -> None:
    kind, seen = Kind((expression,)), Selections()
    if expected is None:
        with pytest.raises(EvaluationError):
            seen.accepts(kind, DRIVER, read_device())
    else:
        assert seen.accepts(kind, DRIVER, read_device()) is expected
        assert seen.accepts(kind, DRIVER, read_device()) is expected  # from what is kept


UNREAD = {
    "a function that we do not know": "device.driver.reverse() == 'x'",
    "a variable that we do not know": "pod.name == 'x'",
    "bytes": "b'x' == b'x'",
    "unsigned numbers": "1u == 1u",
    "a macro with two variables": "[1].all(i, x, true)",
    "half an expression": "device.driver ==",
    "a parenthesis too many": "true)",
    "a text without an end": "'x",
    "a regular expression with a group": "device.driver.matches('(a+)+$')",
    "ten thousand characters": "true" + " " * 10_240,
    "a hundred parentheses": "(" * 100 + "true" + ")" * 100,
    "a thousand signs": "!" * 1000 + "true",
    "a million steps": "[{0}].all(a, [{0}].all(b, [{0}].all(c, true)))".format(",".join("1" * 99)),
}


@pytest.mark.parametrize("expression", UNREAD.values(), ids=UNREAD)
def test_what_is_not_read_says_so(expression: str) -> None:
    with pytest.raises(UnsupportedError):
        evaluation.holds(syntax.parse(expression), Scope(Subject(DRIVER, (), ()).variables()))


WRONG = {
    "not a truth value": "device.driver",
    "an order of texts and numbers": "device.driver < 3",
    "a division by zero": "1 / 0 == 1",
    "more than 64 bits": "9223372036854775807 + 1 > 0",
    "an index out of range": "[1][1] == 1",
    "no quantity": "sign(quantity('1 Gi')) == 0",
    "no version": "semver('1.2').major() == 1",
}


@pytest.mark.parametrize("expression", WRONG.values(), ids=WRONG)
def test_what_has_no_value_says_so(expression: str) -> None:
    with pytest.raises(EvaluationError):
        evaluation.holds(syntax.parse(expression), Scope(Subject(DRIVER, (), ()).variables()))


PATHS = {
    "device.driver == 'x'": {("driver",)},
    "device.attributes['a'].b == 1": {("attributes", "a", "b")},
    "sign(device.capacity['a']['b']) > 0": {("capacity", "a", "b")},
    "'b' in device.attributes['a']": {("attributes", "a")},
    "cel.bind(d, device.attributes['a'], d.b == 1)": {("attributes", "a")},
    "device.attributes[device.driver].b": {("attributes",), ("driver",)},
    "size(device.attributes) > 0": {("attributes",)},
}


@pytest.mark.parametrize(("expression", "expected"), PATHS.items(), ids=PATHS)
def test_what_an_expression_reads_of_a_device(expression: str, expected: set[paths.Path]) -> None:
    assert paths.read_by(syntax.parse(expression)) == expected


VERSIONS = ["1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-beta.2", "1.0.0-beta.11"]


def test_versions_are_ordered_as_the_standard_says() -> None:
    """Semantic Versioning 2.0.0, section 11."""
    ranks = [Semver.of(text).rank for text in [*VERSIONS, "1.0.0-rc.1", "1.0.0"]]
    assert ranks == sorted(ranks)  # type: ignore[type-var]
    assert Semver.of("1.0.0+a").rank == Semver.of("1.0.0+b").rank


def test_quantities_are_exact() -> None:
    assert Quantity.of("0.1") == Quantity.of("100m")
    assert Quantity.of("1Gi") > Quantity.of("1G")


PATTERNS = {
    ("a", "bab"): True,
    ("^a", "ba"): False,
    ("a$", "ab"): False,
    ("^a.*b$", "a--b"): True,
    ("^[A-C]+[0-9]?$", "ABC7"): True,
    ("^[^a]$", "a"): False,
    ("^a\\.b$", "axb"): False,
    ("^\\d+$", "123"): True,
    ("", ""): True,
    ("^$", "x"): False,
    ("b?c+", "accc"): True,
}


@pytest.mark.parametrize(("case", "expected"), PATTERNS.items(), ids=str)
def test_plain_patterns_are_found(case: tuple[str, str], expected: bool) -> None:
    assert patterns.found(*case) is expected
