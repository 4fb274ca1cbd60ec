"""The labels and annotations of an object that are kept when it is decoded (defects A2 and A9)."""

import re
import tracemalloc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared import foreign_labels, labels
from shared.kube import kept_keys, parse, pod_groups, wire
from shared.kube.kept_keys import COMMON, MOST_LONG_BYTES, MOST_VALUE_BYTES, OF_NODES, OF_OWNERS
from tests.architecture.sources import python_files
from tests.fakes.kube_objects import container, encoded, pod
from tests.root import ROOT

CANARY = "canary-of-a-secret"
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
SECRET: dict[str, Any] = {
    "managedFields": [{"manager": CANARY, "fieldsV1": {f"f:{CANARY}": {}}}],
    "annotations": {LAST_APPLIED: CANARY, "example.com/token": CANARY, labels.MIN_AVAILABLE: "2"},
}
LITERAL = re.compile(r"""annotations(\.get\(|\[)\s*f?["']""")
KEPT = {labels.MIN_AVAILABLE: "2"}


def decoded(**metadata: Any):
    return parse.decode_pod(encoded(pod(metadata=metadata)))


def of_kind(kind: str) -> bytes:
    return encoded({"kind": kind, "metadata": {"name": "a", "namespace": "n", **SECRET}})


DECODERS = {
    "pod": parse.decode_pod,
    "node": parse.decode_node,
    "job": parse.decode_job,
    "stateful set": parse.decode_stateful_set,
    "deployment": parse.decode_deployment,
    "namespace": parse.decode_namespace,
    "quota": parse.decode_resource_quota,
    "claim": parse.decode_volume_claim,
    "volume": parse.decode_volume,
    "pod group": pod_groups.GROUPS[0].decode,
}


@pytest.mark.parametrize("decode", DECODERS.values(), ids=DECODERS)
def test_annotations_that_nothing_reads_are_not_kept(decode) -> None:
    found = decode(of_kind("any"))
    assert CANARY not in repr(found)
    assert getattr(found, "annotations", KEPT) == KEPT


def test_values_of_environment_variables_are_not_kept() -> None:
    main = container(cpu="1") | {"env": [{"name": CANARY, "value": CANARY}], "args": [CANARY]}
    assert CANARY not in repr(parse.decode_pod(encoded(pod(containers=[main], metadata=SECRET))))


def test_a_mistyped_key_of_our_domain_is_kept_to_be_reported() -> None:
    mistyped = {"shuntyard.io/max-wiat": "20m"}
    assert decoded(annotations=mistyped).annotations == mistyped
    assert decoded(labels=mistyped).labels == mistyped


def test_every_key_of_another_project_that_is_read_is_kept() -> None:
    notes = dict.fromkeys((foreign_labels.VOLCANO_MAX_WAIT_TOO, labels.POD_DELETION_COST), "1")
    notes |= dict.fromkeys(foreign_labels.YUNIKORN_APPLICATIONS, "1")
    assert decoded(annotations=notes).annotations == notes


def test_annotations_are_read_by_keys_that_are_declared() -> None:
    """A key that the two modules do not name would be read from nothing."""
    sources = python_files("extender", "shared", "agent", "simulator")
    assert [p for p in sources if LITERAL.search((ROOT / p).read_text())] == []
    assert kept_keys.READ >= labels.RESERVATION
    assert set(kept_keys.READ) >= {key for keys in foreign_labels.SAME_AS.values() for key in keys}


def test_common_labels_are_all_kept() -> None:
    common = {f"app.kubernetes.io/{i}": "value" for i in range(COMMON.labels)}
    found = decoded(labels=common)
    assert (found.labels, found.excess) == (common, "")


TOO_MUCH: dict[str, tuple[dict[str, Any], str]] = {
    "ten times as many labels": (
        {"labels": {f"l{i:05}": "x" for i in range(10 * COMMON.labels)}},
        r"^labels: '2560 of them' is not at most 256 labels",
    ),
    "ten times the bytes of labels": (
        {"labels": {f"l{i}": "x" * 10_000 for i in range(33)}},
        r"^labels: '33 of them' is not at most 256 labels with 32768 bytes",
    ),
    "ten times as many annotations of ours": (
        {"annotations": {f"shuntyard.io/a{i:04}": "x" for i in range(10 * COMMON.annotations)}},
        r"^annotations: '640 of them' is not at most 64 annotations",
    ),
    "ten times the bytes of annotations": (
        {"annotations": {f"shuntyard.io/a{i}": "x" * 16_000 for i in range(41)}},
        r"^annotations: '41 of them' is not at most 64 annotations",
    ),
    "one value of ten times its length": (
        {"annotations": {labels.AFFINITY: "x" * 10 * MOST_VALUE_BYTES}},
        rf"^annotation shuntyard.io/affinity: .* is not at most {MOST_VALUE_BYTES} bytes",
    ),
    "one value of long letters": (
        {"annotations": {labels.AFFINITY: "€" * (MOST_VALUE_BYTES // 3 + 1)}},
        r"^annotation shuntyard.io/affinity: ",
    ),
}


@pytest.mark.parametrize(("metadata", "want"), TOO_MUCH.values(), ids=TOO_MUCH)
def test_a_pod_with_too_much_names_the_field(metadata: dict[str, Any], want: str) -> None:
    found = decoded(**metadata)
    assert re.search(want, found.excess)
    assert _within(found.labels, COMMON.labels, COMMON.label_bytes)
    assert _within(found.annotations, COMMON.annotations, COMMON.annotation_bytes)
    assert decoded(**metadata) == found


def test_of_too_many_keys_the_most_important_are_kept() -> None:
    noise = {f"shuntyard.io/a{i:04}": "x" * 1000 for i in range(500)}
    ours = {labels.NODE: "n", labels.PLAN: "p", labels.CPU_GIVEN: "main=1", labels.MAX_WAIT: "1h"}
    many = {f"a{i:06}": "x" for i in range(50_000)}
    marks = {labels.JOB: "j", foreign_labels.RAY_CLUSTER: "r"}
    found = decoded(annotations=noise | ours, labels=many | marks)
    assert found.annotations.items() >= ours.items()
    assert found.labels.items() >= marks.items()
    assert list(found.labels)[2] == "a000000"


def test_a_too_long_value_is_cut_and_not_dropped() -> None:
    found = decoded(annotations={labels.MIN_AVAILABLE: "2" * 100_000})
    assert found.annotations[labels.MIN_AVAILABLE] == "2" * 64 + "…"


def test_our_own_annotations_on_an_owner_may_be_long() -> None:
    notes = {labels.SLOT_PLAN: "x" * MOST_LONG_BYTES, labels.RESCALE: "y" * MOST_LONG_BYTES}
    job = encoded({"metadata": {"name": "j", "namespace": "n", "annotations": notes}})
    found = parse.decode_job(job)
    assert (found.annotations, found.excess) == (notes, "")
    longer = {labels.SLOT_PLAN: "x" * (MOST_LONG_BYTES + 1)}
    job = encoded({"metadata": {"name": "j", "namespace": "n", "annotations": longer}})
    assert parse.decode_job(job).excess.startswith("annotation shuntyard.io/slot-plan: ")


def test_a_node_may_have_many_labels_and_keeps_some_of_too_many() -> None:
    many = {f"feature.node.kubernetes.io/{i:05}": "true" for i in range(10 * OF_NODES.labels)}
    node = {"metadata": {"name": "a", "labels": many | {labels.ZONE_LABEL: "z"}}}
    found = parse.decode_node(encoded(node))
    assert len(found.labels) == OF_NODES.labels
    assert found.labels[labels.ZONE_LABEL] == "z"


def test_foreign_pods_with_large_annotations_cost_little() -> None:
    """300 of them with 250 kB each stay below 4 kB each."""
    large = {f"example.com/{i}": "x" * 25_000 for i in range(10)}
    raws = [encoded(pod(f"p{i}", metadata={"annotations": large})) for i in range(300)]
    tracemalloc.start()
    try:
        kept = [parse.decode_pod(raw) for raw in raws]
        used, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(kept) == 300
    assert used < 300 * 4096


keys = st.one_of(
    st.sampled_from(sorted(kept_keys.READ)),
    st.text(max_size=20).map(kept_keys.OURS.__add__),
    st.text(max_size=300),
)
values = st.one_of(
    st.text(max_size=50),
    st.sampled_from((10, 100, 5_000, 20_000, 200_000)).map("é".__mul__),
)


@given(st.dictionaries(keys, values, max_size=100), st.sampled_from((COMMON, OF_OWNERS)))
def test_kept_keys_are_bounded_and_from_the_object(found, limits) -> None:
    meta = wire.Meta(name="a", labels=found, annotations=found)
    kept = kept_keys.keep(meta, limits)
    assert _within(kept.labels, limits.labels, limits.label_bytes)
    short = {k: v for k, v in kept.annotations.items() if k not in limits.long}
    assert _within(short, limits.annotations, limits.annotation_bytes)
    assert all(len(v.encode()) <= MOST_LONG_BYTES for v in kept.annotations.values())
    for one in (kept.labels, kept.annotations):
        assert all(found[k] == v or v == found[k][:64] + "…" for k, v in one.items())
        assert all(found[k] == v for k, v in one.items()) or kept.excess
    wanted = {k for k in found if k in kept_keys.READ or k.startswith(kept_keys.OURS)}
    assert kept.excess or (kept.labels == found and kept.annotations.keys() == wanted)


def _within(found: dict[str, str], count: int, size: int) -> bool:
    return len(found) <= count and sum(len((k + v).encode()) for k, v in found.items()) <= size
