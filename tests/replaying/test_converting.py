"""Effect of a row of each table on a log of version 3, and the message of a missing one."""

from collections.abc import Iterator
from typing import Any

import pytest

from extender.core.cluster.session import digest
from extender.store import recording
from extender.store.recording import VERSION
from tests.replaying import converting, missing, renames
from tests.replaying.converting import ConversionError
from tests.replaying.test_kept_logs import INPUTS

ASSUMED = {"type": "AssumptionRecord", "assumption": {"uid": "u", "act": "Seat", "at": 1.0}}
TAKEN = {"type": "TakeSeatRecord", "job": "j", "number": 1, "uid": "u", "at": 2.0}


def decision(kind: str, given: Any, output: Any) -> dict[str, Any]:
    times = {"generation": 1, "now": 2.0}
    return {"type": "DecisionRecord", "kind": kind, **times, "input": given, "output": output}


def test_a_head_gets_the_newest_version_and_the_parameters_it_is_replayed_with() -> None:
    head = {"type": "Header", "version": 3, "parameters_hash": "old", "scheduler_name": "s"}
    new = converting.record(head, "new")
    assert new == {**head, "version": VERSION, "parameters_hash": "new"}


def test_structs_fields_and_values_are_renamed_where_they_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(renames, "TAGS", {"TakeSeatRecord": "Take"})
    fields = {("TakeSeatRecord", "at"): "when", ("TakeSeatRecord", "number"): None}
    monkeypatch.setattr(renames, "FIELDS", fields)
    monkeypatch.setattr(renames, "VALUES", {("Act", "Seat"): "Reserve"})
    assert converting.record(TAKEN, "") == {"type": "Take", "job": "j", "uid": "u", "when": 2.0}
    assumption = converting.record(ASSUMED, "")["assumption"]
    assert assumption == {"uid": "u", "act": "Reserve", "at": 1.0}


def test_what_a_decision_was_given_and_what_came_out_are_of_its_kind(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(renames, "KINDS", {"resize": "cpu-shares"})
    monkeypatch.setattr(renames, "FIELDS", {("ResizeNode", "pods"): "changes"})
    monkeypatch.setattr(renames, "RESHAPED", {"resize input": lambda given: {"trigger": given}})
    given = {"occasion": None, "memory": None}
    output = {"commands": [{"type": "ResizeNode", "node": "a", "pods": []}]}
    new = converting.record(decision("resize", given, output), "")
    assert new["kind"] == "cpu-shares"
    assert new["input"] == {"trigger": given}
    assert new["output"] == {"commands": [{"type": "ResizeNode", "node": "a", "changes": []}]}


def test_a_struct_that_is_written_as_a_list_stays_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(renames, "FIELDS", {("slot_plan.Span", "last"): None})
    assert converting.value([1, 2, {"a": 4}], "slot_plan.Span", "") == [1, {"a": 4}]


@pytest.fixture
def wordings(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    rows = {"{} of {} seats": "nodes: {} of {}", "no room": "full"}
    monkeypatch.setattr(renames, "TEXTS", rows)
    converting.forget_texts()
    yield
    converting.forget_texts()


@pytest.mark.usefixtures("wordings")
def test_texts_are_worded_as_now_also_where_they_are_keys() -> None:
    output = {"passed": [], "failed": {"2 of 3 seats": ["a"], "no room": ["b"]}, "nowhere": ""}
    new = converting.record(decision("filter", {"pod": None, "nodes": []}, output), "")
    assert new["output"]["failed"] == {"nodes: 2 of 3": ["a"], "full": ["b"]}


def test_settings_are_renamed_and_may_change_their_section(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(renames, "SETTINGS", {"gang.a": "queue.b", "gang.gone": None})
    new = converting.settings({"gang": {"a": 1, "gone": 2, "c": 3}})
    assert new == {"queue": {"b": 1}, "gang": {"c": 3}}


def test_a_field_that_version_3_had_not_is_named() -> None:
    with pytest.raises(ConversionError, match=r"version 3 has no field Assumption\.odd"):
        converting.record({**ASSUMED, "assumption": {"odd": 1}}, "")


def test_a_tag_that_version_3_had_not_is_named() -> None:
    with pytest.raises(ConversionError, match="no struct with the tag 'Odd'"):
        converting.record({"type": "Odd"}, "")


LACKING = {
    "tag": ("TAGS", {"TakeSeatRecord": "Take"}, 'TakeSeatRecord.* row "TakeSeatRecord" to TAGS'),
    "field": (
        "FIELDS",
        {("Seat", "node"): "x", ("Assumption", "act"): "x"},
        r'Assumption\.act: .* has no field \'x\': add a row \("Assumption", "act"\) to FIELDS',
    ),
    "required": ("FIELDS", {("Assumption", "act"): None}, "Assumption: 'act' is required now"),
    "value": ("VALUES", {("Act", "Seat"): "x"}, r"Assumption\.act: no value 'Seat'"),
}


@pytest.mark.parametrize(("table", "rows", "message"), LACKING.values(), ids=LACKING)
def test_a_name_without_a_counterpart_is_named(
    monkeypatch: pytest.MonkeyPatch, table: str, rows: dict[Any, Any], message: str
) -> None:
    monkeypatch.setattr(renames, table, rows)
    lines = missing.names(recording.Record, INPUTS)
    with pytest.raises(AssertionError, match=message):
        assert not lines, "\n".join(lines)


def test_what_is_reshaped_may_lack_fields(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(renames, "FIELDS", {**renames.FIELDS, ("Assumption", "act"): "x"})
    monkeypatch.setattr(renames, "RESHAPED", {"Assumption": lambda old: old})
    assert missing.names(recording.Record, INPUTS) == []


def test_a_digest_is_kept_of_what_is_too_long() -> None:
    first, second = digest([("a", 1.0)]), digest([("a", 2.0)])
    assert (len(first), first == second) == (64, False)
