"""Layers of slices as annotations state them."""

import json
import re

import pytest

from extender.core.cluster import job_views, slice_request
from extender.core.cluster.slice_request import LevelRequest, SliceRequest
from shared import foreign_labels, labels
from shared.errors import InputError
from shared.model import Pod
from tests.fakes.builders import make_owner, make_pod
from tests.unit.core.clusters import snapshot_of

KEY, SIZE = labels.SLICE_REQUIRED_TOPOLOGY, labels.SLICE_SIZE
KUEUE = foreign_labels.KUEUE_SLICE_LAYERS


def layers(*of_levels: tuple[str, object]) -> str:
    return json.dumps([{"topology": label, "size": size} for label, size in of_levels])


def read(found: tuple[SliceRequest, ...]) -> list[tuple[str, int]]:
    return [(one.level.text, one.size) for one in found]


def test_two_lists_make_layers_from_the_coarsest_to_the_finest() -> None:
    found = slice_request.of_lists(KEY, "block, nvlink", (SIZE, "32,8"))
    assert read(found) == [("block", 32), ("nvlink", 8)]
    assert found[0].level == LevelRequest(KEY, "block", (SIZE, "32,8"), "block, nvlink")


def test_kueues_list_is_read() -> None:
    text = layers(("cloud.com/block", 32), ("cloud.com/rack", 16), ("kubernetes.io/hostname", 4))
    found = slice_request.of_json(KUEUE, text)
    assert read(found) == [
        ("cloud.com/block", 32),
        ("cloud.com/rack", 16),
        ("kubernetes.io/hostname", 4),
    ]
    assert {one.level.whole for one in found} == {text}


WRONG = {
    "no JSON": ("[rack", "a list like"),
    "no list": ('{"topology": "rack", "size": 4}', "Expected `array`"),
    "no level": ("[]", "1 to 3 levels"),
    "four levels": (layers(("a", 8), ("b", 4), ("c", 2), ("d", 1)), "1 to 3 levels"),
    "a level twice": (layers(("a", 8), ("a", 4)), "no level comes twice"),
    "a size of 0": (layers(("a", 0)), "sizes from 1"),
    "a size in words": (layers(("a", "four")), "Expected `int`"),
    "a size that does not divide the one before": (layers(("a", 8), ("b", 3)), "here 8"),
    "sizes, which Kueue only proposes": ('[{"topology": "a", "sizes": [1, 3]}]', "`sizes`"),
}


@pytest.mark.parametrize(("text", "words"), WRONG.values(), ids=WRONG)
def test_a_list_of_kueue_that_cannot_be_used_is_named(text: str, words: str) -> None:
    with pytest.raises(InputError, match=re.escape(words)) as raised:
        slice_request.of_json(KUEUE, text)
    assert raised.value.field == f"annotation {KUEUE}"
    assert raised.value.value == text


WRONG_LISTS = {
    "more levels than sizes": ("block, rack", "4", SIZE, "names levels: 2"),
    "a size that does not divide the one before": ("block, rack", "8, 3", SIZE, "here 8"),
    "a level twice": ("rack, rack", "8, 4", KEY, "no level comes twice"),
    "four levels": ("a, b, c, d", "8, 4, 2, 1", KEY, "1 to 3 levels"),
    "an empty size": ("block, rack", "8,", SIZE, "at least 1, for each level"),
}


@pytest.mark.parametrize(("levels", "sizes", "key", "words"), WRONG_LISTS.values(), ids=WRONG_LISTS)
def test_lists_that_do_not_fit_together_are_named(
    levels: str, sizes: str, key: str, words: str
) -> None:
    with pytest.raises(InputError, match=re.escape(words)) as raised:
        slice_request.of_lists(KEY, levels, (SIZE, sizes))
    assert raised.value.field == f"annotation {key}"


def problem(pod: Pod) -> str:
    snapshot = snapshot_of(make_owner(), pod)
    return str(job_views.view(snapshot, next(iter(snapshot.jobs))).problem)


def test_kueues_list_stands_alone() -> None:
    for other in (foreign_labels.KUEUE_SLICE_SIZE, foreign_labels.KUEUE_SLICE_REQUIRED_TOPOLOGY):
        notes = {KUEUE: layers(("a.b/c", 4)), other: "4"}
        found = problem(make_pod(owner=make_owner(), annotations=notes))
        assert KUEUE in found
        assert other in found
