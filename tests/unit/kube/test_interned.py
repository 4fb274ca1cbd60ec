import gc
import weakref

from hypothesis import given
from hypothesis import strategies as st

from shared import model
from shared.kube import interned, parse
from tests.fakes.kube_objects import container, encoded, pod

OWNER = {"kind": "Job", "apiVersion": "batch/v1", "name": "j", "uid": "u", "controller": True}


def member(name: str, cpu: str = "1", **labels: str) -> model.Pod:
    metadata = {"name": name, "uid": name, "labels": labels, "ownerReferences": [OWNER]}
    manifest = pod(
        metadata=metadata,
        containers=[container(cpu=cpu)],
        schedulerName="shuntyard",
        nodeName="node-1",
        nodeSelector={"zone": "a"},
    )
    return parse.decode_pod(encoded(manifest))


def test_what_two_pods_have_in_common_is_held_once() -> None:
    one, other = member("a", job="j"), member("b", job="j")
    for part in ("shape", "labels", "controller", "namespace", "scheduler_name", "node_name"):
        assert getattr(one, part) is getattr(other, part)


def test_pods_that_differ_in_a_label_share_the_others() -> None:
    one, other = member("a", job="a-long-name", index="1"), member("b", job="a-long-name")
    assert one.labels == {"job": "a-long-name", "index": "1"}
    assert one.labels["job"] is other.labels["job"]


def test_a_long_key_is_held_once() -> None:
    key = "batch.kubernetes.io/job-completion-index"
    one, other = (member(name, **{key: name}) for name in ("a", "b"))
    (held,), (second,) = one.labels, other.labels
    assert held == key
    assert held is second


def test_a_shape_goes_with_its_last_pod() -> None:
    only = member("a", cpu="4711m")
    shape = weakref.ref(only.shape)
    del only
    gc.collect()
    assert shape() is None


def test_a_long_text_is_not_held() -> None:
    long = "x" * (interned.MOST_LENGTH + 1)
    assert interned.text(long) is long
    first = interned.texts({"a": long})
    assert first is not interned.texts({"a": long})
    assert first == {"a": long}


@given(st.dictionaries(st.text(max_size=4), st.text(max_size=300), max_size=12))
def test_a_map_stays_equal_and_keeps_its_order(values: dict[str, str]) -> None:
    assert list(interned.texts(values).items()) == list(values.items())
    assert {interned.text(value) for value in values.values()} == set(values.values())
