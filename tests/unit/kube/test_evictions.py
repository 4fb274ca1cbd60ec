"""Evictions of the Eviction Request API are read with our turn and our report."""

import json
from typing import Any

import pytest

from shared.kube import evictions
from shared.kube.errors import OddObjectError
from shared.objects.disruptions import RESPONDER, Eviction, Turn

STAMP, AT = "2026-11-27T10:00:00Z", 1795773600.0


def read(
    turns: list[dict[str, Any]] | None = None, reports: list[dict[str, Any]] | None = None
) -> Eviction:
    metadata = {"namespace": "team", "name": "e", "uid": "u", "resourceVersion": "7"}
    target = {"pod": {"name": "p", "uid": "v"}}
    status = {"targetResponders": turns, "responders": reports}
    body = {"metadata": metadata, "spec": {"target": target}, "status": status}
    return evictions.decode(json.dumps(body).encode())


def test_our_turn_and_our_report_are_read_among_those_of_others() -> None:
    other = {"name": "acme.io/other", "state": "Completed"}
    ours = {"name": RESPONDER, "state": "Active", "priority": 20000}
    report = {"name": RESPONDER, "startTime": STAMP, "message": "m"}
    found = read([other, ours], [{"name": "acme.io/other"}, report])
    assert (found.key, found.pod, found.pod_uid) == ("team/e", "p", "v")
    assert (found.turn, found.row, found.waits_for_us) == (Turn.ACTIVE, 1, True)
    assert (found.started_at, found.heartbeat_at, found.message) == (AT, 0.0, "m")


TURNS: dict[str, tuple[str, bool]] = {
    "it is our turn": ("Active", True),
    "it is not our turn yet": ("Inactive", False),
    "the eviction was canceled": ("Canceled", False),
    "we lost our turn": ("Interrupted", False),
    "a later version says something else": ("Paused", False),
}


@pytest.mark.parametrize(("state", "waits"), TURNS.values(), ids=TURNS)
def test_an_eviction_waits_for_us_in_our_turn_alone(state: str, waits: bool) -> None:
    found = read([{"name": RESPONDER, "state": state}], [{"name": RESPONDER}])
    assert found.waits_for_us is waits


def test_an_eviction_waits_for_us_no_more_when_we_are_done() -> None:
    turns = [{"name": RESPONDER, "state": "Active"}]
    found = read(turns, [{"name": RESPONDER, "completionTime": STAMP}])
    assert (found.completed_at, found.waits_for_us) == (AT, False)


def test_an_eviction_without_responders_yet_is_not_ours() -> None:
    assert read().turn is Turn.NONE


def test_one_that_cannot_be_read_is_named() -> None:
    with pytest.raises(OddObjectError):
        evictions.decode(b'{"metadata": {"name": "e"}, "status": {"responders": 1}}')
