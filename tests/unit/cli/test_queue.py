"""The queue as a table: start, wait and order of each job."""

import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from msgspec.structs import replace

from cli.views import queue
from cli.views.amounts import coming
from cli.views.terminal import Terminal
from shared.progress import Span
from shared.readapi import api
from shared.readapi.scores import StandingEntry
from tests.fakes.answers import QUEUE

NOW = QUEUE.generated_at


def cells(answer: api.QueueResponse, *, wide: bool = False) -> dict[str, str]:
    """The first job's cells by column; no cell here has two blanks in it."""
    header, row = [line for line in queue.queue(answer, wide=wide) if ":" not in line[:6]][:2]
    return dict(zip(header.split(), re.split(r" {2,}", row.strip()), strict=True))


def changed(**fields: Any) -> api.QueueResponse:
    """The queue with its first job changed, and alone."""
    first = replace(QUEUE.entries[0], message="full", **fields)
    return replace(QUEUE, entries=(first,))


@dataclass(frozen=True)
class Shown:
    fields: dict[str, Any]
    want: dict[str, str]
    order: str = "cps"


def standing(source: str) -> StandingEntry:
    needs = Span(600.0, 300.0, 900.0)
    return StandingEntry(group="urgent", needs=needs, source=source, weight=1.5)


SHOWN: dict[str, Shown] = {
    "nothing known": Shown({}, {"START": "-", "LEFT": "-", "ESTIMATE": "-", "MESSAGE": "full"}),
    "a start in minutes": Shown(
        {"estimated_start": NOW + 290, "estimate": "durations"},
        {"START": "in 4m", "BAND": "-", "ESTIMATE": "durations"},
    ),
    "a start with a band": Shown(
        {
            "estimated_start": NOW + 290,
            "earliest_start": NOW + 130,
            "latest_start": NOW + 610,
        },
        {"START": "in 4m", "BAND": "in 2m to 10m"},
    ),
    "a start without a latest time": Shown(
        {"estimated_start": NOW + 290, "earliest_start": NOW + 130},
        {"START": "in 4m", "BAND": "in 2m or later"},
    ),
    "no estimate, with a reason": Shown(
        {"estimate": "unknown"}, {"START": "-", "ESTIMATE": "unknown"}
    ),
    "a maximum wait": Shown({"max_wait_seconds": 1200.0}, {"WAIT": "1m15s", "LEFT": "18m45s"}),
    "a maximum wait that is over": Shown({"max_wait_seconds": 60.0}, {"LEFT": "over"}),
    "the order weighting": Shown(
        {"weight": api.Weight(utility=12, size=0.25, cpu_ratio=0.125, memory_ratio=0.125)},
        {"UTILITY": "12", "SIZE": "0.250", "V": "1250"},
        order="weighting",
    ),
    "the order weighting before its key is known": Shown(
        {}, {"UTILITY": "-", "SIZE": "-"}, order="weighting"
    ),
    "the order service": Shown(
        {"standing": standing("history")}, {"GROUP": "urgent", "NEEDS": "10m00s"}, order="service"
    ),
    "the order service for a job of unknown length": Shown(
        {"standing": standing("")}, {"NEEDS": "10m00s?"}, order="service"
    ),
    "the order service before it is known": Shown(
        {}, {"GROUP": "-", "NEEDS": "-"}, order="service"
    ),
}


@pytest.mark.parametrize("case", SHOWN.values(), ids=SHOWN.keys())
def test_the_queue_shows_each_field_of_a_job(case: Shown) -> None:
    found = cells(replace(changed(**case.fields), order=case.order), wide=True)
    assert {name: found[name] for name in case.want} == case.want


def test_other_orders_have_no_columns_of_weighting() -> None:
    assert {"UTILITY", "SIZE"} & cells(changed()).keys() == set()


COMING: dict[str, tuple[float, str]] = {
    "passed": (-5.0, "now"),
    "at once": (0.5, "now"),
    "seconds": (45.9, "in 45s"),
    "a minute": (60.0, "in 1m"),
    "not quite an hour": (3599.0, "in 59m"),
    "today": (3 * 3600.0, "14:00"),
    "tomorrow": (26 * 3600.0, "11-22 13:00"),
}


@pytest.fixture
def an_hour_east() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", "EAST-1")
        time.tzset()
        yield
    time.tzset()


@pytest.mark.usefixtures("an_hour_east")
@pytest.mark.parametrize(("seconds", "want"), COMING.values(), ids=COMING.keys())
def test_a_future_time_is_as_precise_as_an_estimate(seconds: float, want: str) -> None:
    ten_o_clock = 1795255200.0  # 2026-11-21 10:00 UTC
    assert coming(ten_o_clock + seconds, ten_o_clock) == want


TERMS: dict[str, tuple[float, float, str]] = {
    "the least of all waiting jobs": (0.0, 0.0, "········"),
    "the most workers": (0.0, 1.0, "████····"),
    "the most of both": (1.0, 1.0, "████████"),
    "out of bounds": (2.0, 1.0, "████████"),
}


@pytest.mark.parametrize(("urgency", "workers", "want"), TERMS.values(), ids=TERMS)
def test_a_score_has_a_bar_from_the_least_to_the_most(
    urgency: float, workers: float, want: str
) -> None:
    terms = replace(QUEUE.entries[0].terms, e_normalised=urgency, m_normalised=workers)
    assert cells(changed(terms=terms))["SCORE"].split()[0] == want
    assert queue.score_bar(terms, blocks=False) == want.replace("█", "#").replace("·", ".")


def test_wide_names_every_term_of_the_score() -> None:
    found = cells(changed(), wide=True)
    assert {name: found[name] for name in ("V", "USER-PRIORITY", "JOB-PRIORITY", "URGENCY")} == {
        "V": "1250",
        "USER-PRIORITY": "5",
        "JOB-PRIORITY": "50",
        "URGENCY": "5",
    }
    assert (found["WORKER-COUNT"], found["REASON-CODE"]) == ("6", "GangDoesNotFit")


@pytest.mark.parametrize("width", [72, 80, 100, 200])
def test_a_terminal_shows_the_score_and_the_reason_in_its_width(width: int) -> None:
    screen = Terminal(width, blocks=True, colours=False, height=30)
    message = "the gang asks for more than is free: 16 GPUs needed, 3 GPUs free"
    long = replace(QUEUE.entries[0], job="a-very-long-name-of-a-training-job", message=message)
    lines = queue.queue(replace(QUEUE, entries=(long,)), wide=False, screen=screen)
    assert max(map(len, lines)) <= width
    assert "16 GPUs needed" in lines[1]


def test_jobs_that_cannot_start_are_listed_apart() -> None:
    """They have no position; each has its reason (defect B5)."""
    stuck = replace(QUEUE.entries[0], job="huge", position=None, reason="NoSuchNode", message="m")
    able = replace(QUEUE.entries[0], position=1)
    lines = queue.queue(replace(QUEUE, entries=(able, stuck)), wide=False)
    cut = lines.index("")
    assert [line.split()[1] for line in lines[1:cut]] == [able.job]
    assert lines[cut + 1] == ("cannot start without a change; `shuntyard explain JOB` shows why:")
    assert lines[cut + 3].split() == ["huge", stuck.namespace, "16", "GPUs", "1m15s", "m"]
    alone = queue.queue(replace(QUEUE, entries=(stuck,)), wide=False)
    assert alone[0] == "no jobs waiting for room"
    assert max(map(len, alone)) <= 80
