"""Malformed objects that the API server accepts: each is skipped, and the others are read."""

import json

import pytest

from shared.kube.depth import MOST_LEVELS
from shared.kube.errors import OddObjectError
from shared.kube.resources import OPTIONAL, ResourceKind
from shared.kube.watching import ListWatch
from shared.model import Delete, Owner, Replace, Upsert

RAY: ResourceKind = next(kind for kind in OPTIONAL if kind.kind == "Owner" and "Ray" in kind.source)
LEVELS = (1_000, 5_000, MOST_LEVELS - 3)


def job(name: str, deep: str = "{}") -> str:
    meta = {"name": name, "namespace": "team", "uid": f"uid-{name}", "resourceVersion": "7"}
    return f'{{"spec": {{"anything": {deep}}}, "metadata": {json.dumps(meta)}}}'


def nested(levels: int) -> str:
    return '{"a":' * levels + "1" + "}" * levels


@pytest.mark.parametrize("levels", LEVELS)
def test_a_deep_object_keeps_no_other_one_from_being_read(levels: int) -> None:
    odd: list[str] = []
    watch = ListWatch(RAY, lambda key, _: odd.append(key))
    items = ", ".join((job("a"), job("deep", nested(levels)), job("b")))
    page = f'{{"metadata": {{"resourceVersion": "5"}}, "items": [{items}]}}'
    found = watch.feed_list(page.encode())
    assert isinstance(found, Replace)
    names = [one.name for one in found.entities if isinstance(one, Owner)]
    assert {"a", "b"} <= {*names}
    assert set(odd) <= {"team/deep"}
    line = f'{{"type": "MODIFIED", "object": {job("deep", nested(levels))}}}'
    change = watch.feed_line(line.encode())
    assert isinstance(change, Upsert | Delete)
    assert not watch.listing
    more = watch.feed_line(f'{{"type": "ADDED", "object": {job("c")}}}'.encode())
    assert isinstance(more, Upsert)


def test_an_object_nested_deeper_than_go_allows_is_one_malformed_object() -> None:
    with pytest.raises(OddObjectError):
        RAY.decode(job("deep", nested(200_000)).encode())
