"""Frames lead a reader from one answer to the next, whatever changed between them."""

import json
from functools import reduce
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extender.servers.readapi import deltas
from extender.servers.readapi.deltas import Listing
from shared.readapi import api
from tests.fakes.answers import NODES, QUEUE

ENTRIES = st.dictionaries(st.sampled_from("abcdefgh"), st.integers(0, 3), max_size=8)
ORDERS = st.permutations("abcdefgh")


def listing(values: dict[str, int], order: list[str], at: float) -> Listing:
    entries = {key: {"name": key, "value": values[key]} for key in order if key in values}
    return Listing("nodes", {"generated_at": at}, entries)


def applied(known: dict[str, Any], text: bytes) -> dict[str, Any]:
    """Do what page/src/live.ts does with a frame."""
    frame = json.loads(text)
    entries = {} if frame.get("whole") else dict(known)
    for key in frame.get("gone", ()):
        del entries[key]
    after = {before: key for key, before in frame.get("after", {}).items()}
    order = list(frame.get("order", ()))
    for start in ["", *entries] if "order" not in frame else ():
        key = start
        while key is not None:
            order += [key] if key else []
            key = after.get(key)
    entries |= frame.get("set", {})
    for key, patch in frame.get("patch", {}).items():
        entries[key] = entries[key] | patch
    return {key: entries[key] for key in order}


@given(ENTRIES, ORDERS, ENTRIES, ORDERS)
def test_a_reader_who_applies_every_frame_has_the_last_answer(
    old: dict[str, int], old_order: list[str], new: dict[str, int], new_order: list[str]
) -> None:
    before, now = listing(old, old_order, 1.0), listing(new, new_order, 2.0)
    known = reduce(applied, deltas.whole(before), {})
    frame = deltas.difference(before, now)
    known = known if frame is None else applied(known, frame)
    assert list(known.items()) == list(now.entries.items())


@pytest.mark.parametrize("count", [0, 1, 249, 250, 251, 750])
def test_a_long_list_comes_in_frames_of_which_only_the_last_is_to_be_shown(count: int) -> None:
    keys = [f"{i}" for i in reversed(range(count))]
    now = listing(dict.fromkeys(keys, 1), keys, 1.0)
    frames = deltas.whole(now)
    known = reduce(applied, frames, {"gone before": {}})
    assert list(known.items()) == list(now.entries.items())
    read = [json.loads(frame) for frame in frames]
    assert [len(one["set"]) <= deltas.MOST_ENTRIES for one in read] == [True] * len(read)
    assert [one.get("more", False) for one in read] == [True] * (len(read) - 1) + [False]


@given(ENTRIES, ORDERS)
def test_without_a_change_there_is_no_frame(values: dict[str, int], order: list[str]) -> None:
    assert deltas.difference(listing(values, order, 1.0), listing(values, order, 2.0)) is None


def test_of_a_changed_entry_only_the_changed_fields_are_sent() -> None:
    values = {"a": 1, "b": 1}
    before, now = listing(values, ["a", "b"], 1.0), listing({"a": 1, "b": 2}, ["a", "b"], 2.0)
    frame = json.loads(deltas.difference(before, now) or b"")
    assert (frame["patch"], "set" in frame, "order" in frame) == ({"b": {"value": 2}}, False, False)


def test_a_new_entry_does_not_repeat_the_order_of_all_others() -> None:
    before = listing({"a": 1, "c": 1}, ["a", "c"], 1.0)
    now = listing({"a": 1, "b": 1, "c": 1}, ["a", "b", "c"], 2.0)
    frame = json.loads(deltas.difference(before, now) or b"")
    assert (frame["after"], "order" in frame) == ({"b": "a"}, False)


def test_what_changes_at_every_moment_is_no_change() -> None:
    later = [api.QueueEntry(**{**_fields(entry), "waited_seconds": 1e6}) for entry in QUEUE.entries]
    older = deltas.listing("queue", deltas.steady(QUEUE))
    body = deltas.steady(api.QueueResponse(**{**_fields(QUEUE), "entries": tuple(later)}))
    assert deltas.difference(older, deltas.listing("queue", body)) is None
    shown = deltas.steady(NODES).entries
    assert {node.agent.age_seconds for node in shown if node.agent} <= {0.0}


def _fields(struct: Any) -> dict[str, Any]:
    return {name: getattr(struct, name) for name in struct.__struct_fields__}
