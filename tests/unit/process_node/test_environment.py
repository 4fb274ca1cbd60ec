from typing import Any

import pytest

from devcluster.process_node.environment import Sources, command_line, environment, references
from devcluster.process_node.errors import ConfigError
from tests.unit.process_node.pods import AROUND, container, pod

SOURCES = Sources({"conf": {"a": b"1", "b": b"2"}, "gone": None}, {"key": {"t": b"s3"}})


def value_from(**source: Any) -> dict[str, Any]:
    return {"name": "X", "valueFrom": source}


CASES: dict[str, tuple[dict[str, Any], str | None]] = {
    "a plain value": ({"name": "X", "value": "v"}, "v"),
    "a value that refers to an earlier one": ({"name": "X", "value": "$(PATH):/x"}, "/bin:/x"),
    "no value is empty": ({"name": "X"}, ""),
    "the pod's name": (value_from(fieldRef={"fieldPath": "metadata.name"}), "p"),
    "a label": (value_from(fieldRef={"fieldPath": "metadata.labels['l']"}), "lv"),
    "a label that is not there": (value_from(fieldRef={"fieldPath": "metadata.labels['m']"}), ""),
    "the pod's address": (value_from(fieldRef={"fieldPath": "status.podIP"}), "127.20.0.2"),
    "the node's name": (value_from(fieldRef={"fieldPath": "spec.nodeName"}), "n"),
    "a limit in millis": (
        value_from(resourceFieldRef={"resource": "limits.cpu", "divisor": "1m"}),
        "1500",
    ),
    "a limit rounds up": (value_from(resourceFieldRef={"resource": "limits.cpu"}), "2"),
    "a limit that is not set is what the node has": (
        value_from(resourceFieldRef={"resource": "limits.memory", "divisor": "1Gi"}),
        "8",
    ),
    "a request that is not set is the limit": (
        value_from(resourceFieldRef={"resource": "requests.cpu", "divisor": "1m"}),
        "1500",
    ),
    "a key of a ConfigMap": (value_from(configMapKeyRef={"name": "conf", "key": "b"}), "2"),
    "a key of a Secret": (value_from(secretKeyRef={"name": "key", "key": "t"}), "s3"),
    "an optional key that is missing": (
        value_from(configMapKeyRef={"name": "conf", "key": "z", "optional": True}),
        None,
    ),
    "an optional ConfigMap that is missing": (
        value_from(configMapKeyRef={"name": "gone", "key": "z", "optional": True}),
        None,
    ),
}


@pytest.mark.parametrize(("variable", "want"), CASES.values(), ids=CASES)
def test_a_variable_has_the_value_of_its_source(variable: dict[str, Any], want: str | None) -> None:
    one = pod(
        container(env=[variable], resources={"limits": {"cpu": "1500m"}}),
        meta={"labels": {"l": "lv"}},
    )
    values = environment(one, one.spec.containers[0], SOURCES, AROUND)
    assert values.get("X") == want


MISSING: dict[str, tuple[dict[str, Any], str]] = {
    "a ConfigMap": (value_from(configMapKeyRef={"name": "gone", "key": "a"}), 'configmap "gone"'),
    "a key": (value_from(secretKeyRef={"name": "key", "key": "z"}), 'key "z"'),
    "a field": (value_from(fieldRef={"fieldPath": "spec.nope"}), "spec.nope"),
    "a source of another kind": (value_from(fileKeyRef={}), "does not support"),
}


@pytest.mark.parametrize(("variable", "words"), MISSING.values(), ids=MISSING)
def test_a_missing_reference_is_named(variable: dict[str, Any], words: str) -> None:
    one = pod(container(env=[variable]))
    with pytest.raises(ConfigError, match=words):
        environment(one, one.spec.containers[0], SOURCES, AROUND)


def test_whole_objects_come_first_and_with_their_prefix() -> None:
    source = {"prefix": "C_", "configMapRef": {"name": "conf"}}
    one = pod(container(envFrom=[source], env=[{"name": "C_a", "value": "own"}]))
    values = environment(one, one.spec.containers[0], SOURCES, AROUND)
    assert (values["C_a"], values["C_b"]) == ("own", "2")


def test_command_and_arguments_are_expanded() -> None:
    one = pod(container(command=["run", "$(X)"], args=["--y=$(X)", "$$(X)"]))
    words = command_line(one.spec.containers[0], {"X": "v"})
    assert words == ["run", "v", "--y=v", "$(X)"]


def test_the_named_objects_are_found() -> None:
    one = pod(
        container(
            env=[value_from(configMapKeyRef={"name": "c1", "key": "k"})],
            envFrom=[{"secretRef": {"name": "s1"}}],
        )
    )
    assert references(one) == ({"c1"}, {"s1"})
