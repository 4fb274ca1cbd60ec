"""Workers, payoff and promise in the tables and in `shuntyard explain`."""

import re

import msgspec
import pytest
from msgspec.structs import replace

from cli.__main__ import main
from cli.views import admission
from shared.readapi import api
from shared.readapi.ledgers import Declined, WorkersEntry
from shared.readapi.pricing import AdmissionEntry, PricePart, ProfileEntry
from tests.fakes.answers import EXPLAIN_JOB, JOBS, QUEUE, RESCALES
from tests.unit.cli.conftest import ReadApi

DONE, GROWS, ABORTED = RESCALES.entries
WORKERS = WorkersEntry(now=4, least=1, most=6, stated=5, rescale=GROWS)
ADMITTED = AdmissionEntry(
    admitted=True,
    payoff=7.5,
    utility=10.0,
    bill=2.5,
    promise="slipped",
    promised_at=1030.0,
    finish_at=1300.0,
    resumes_at=1100.0,
    planned_workers=0,
)
REFUSED = AdmissionEntry(admitted=False, payoff=-1.25, utility=3.0)
PROFILE = ProfileEntry(
    since=430.0,
    until=1030.0,
    steps=12,
    wanted_steps=20,
    step_seconds=0.5,
    spread=0.03,
    wanted_spread=0.1,
    lacks="8 more steps",
)
WAITING = ProfileEntry(wanted_steps=20, wanted_spread=0.1, lacks="it does not run yet")


def queue(read_api: ReadApi, *more: dict[str, object]) -> None:
    entries = [replace(entry, **extra) for entry, extra in zip(QUEUE.entries, more, strict=True)]
    read_api.answers["/v1/queue"] = (
        200,
        msgspec.json.encode(replace(QUEUE, entries=tuple(entries))),
    )


def test_the_queue_has_the_columns_that_one_of_its_jobs_needs(
    read_api: ReadApi, capsys: pytest.CaptureFixture[str]
) -> None:
    queue(read_api, {"workers": WORKERS}, {"admission": REFUSED})
    assert main(["queue"]) == 0
    head, first, second = capsys.readouterr().out.splitlines()
    assert head.split()[-4:] == ["WORKERS", "PAYOFF", "PROMISE", "REASON"]
    assert re.split(r" {2,}", first)[-4:-1] == ["4>5 of 1..6", "-", "-"]
    assert re.split(r" {2,}", second)[-4:-1] == ["-", "-1.25", "none"]


def test_without_prices_only_a_column_of_workers_is_added(
    read_api: ReadApi, capsys: pytest.CaptureFixture[str]
) -> None:
    queue(read_api, {"workers": replace(WORKERS, rescale=None)}, {})
    assert main(["queue"]) == 0
    head, first, second = capsys.readouterr().out.splitlines()
    assert head.split()[-3:] == ["START", "WORKERS", "REASON"]
    assert "  4 of 1..6  " in first
    assert "1..6" not in second


def test_jobs_show_how_the_promise_stands(
    read_api: ReadApi, capsys: pytest.CaptureFixture[str]
) -> None:
    (job,) = JOBS.entries
    changed = replace(JOBS, entries=(replace(job, workers=WORKERS, admission=ADMITTED),))
    read_api.answers["/v1/jobs"] = (200, msgspec.json.encode(changed))
    assert main(["jobs", "-o", "wide"]) == 0
    out = capsys.readouterr().out
    wanted = ["WORTH", "BILL", "4>5 of 1..6", "7.5", "slipped, in 5m", "2.5"]
    assert [text for text in wanted if text not in out] == []


def shown(**fields: object) -> str:
    answer = replace(EXPLAIN_JOB, **fields)
    return "\n".join([f"{name}: {text}" for name, text in admission.facts(answer)])


PAYOFF = "Payoff: 7.5 (utility 10, bill 2.5)"
FACTS: dict[str, tuple[dict[str, object], str]] = {
    "workers": (
        {"workers": replace(WORKERS, stated=4)},
        "Workers: 4 of 1 to 6; Growing 4>5 (SavesTime)",
    ),
    "workers on their way": (
        {"workers": replace(WORKERS, rescale=None)},
        "Workers: 4 of 1 to 6, its owner requests 5",
    ),
    "not changed": (
        {"declined": Declined(job="a/job/x", reason="CoolingDown", message="a moment", at=1.0)},
        "Unchanged: CoolingDown: a moment",
    ),
    "admitted": (
        {"admission": ADMITTED},
        f"{PAYOFF}\nPromise: slipped, promised in 30s, by its plan in 5m, resumes in 1m",
    ),
    "in time": (
        {"admission": replace(ADMITTED, promise="kept", finish_at=1030.0, resumes_at=None)},
        f"{PAYOFF}\nPromise: kept, promised in 30s",
    ),
    "not admitted": (
        {"admission": REFUSED},
        "Payoff: -1.25 (utility 3, bill -)\nPromise: none, it is not admitted",
    ),
    "measured while it runs": (
        {"admission": replace(REFUSED, profile=PROFILE)},
        (
            "Payoff: -1.25 (utility 3, bill -)\nPromise: none, it is not admitted\n"
            "Profile: 12 of at least 20 steps, a step takes 0.5 s, spread 0.03 (at most 0.1), "
            "for another 30s; missing: 8 more steps"
        ),
    ),
    "let in, and waiting": (
        {"admission": replace(REFUSED, profile=WAITING)},
        (
            "Payoff: -1.25 (utility 3, bill -)\nPromise: none, it is not admitted\n"
            "Profile: 0 of at least 20 steps; missing: it does not run yet"
        ),
    ),
    "measured": (
        {"admission": replace(REFUSED, profile=replace(PROFILE, until=None, lacks=""))},
        (
            "Payoff: -1.25 (utility 3, bill -)\nPromise: none, it is not admitted\n"
            "Profile: measured: 12 of at least 20 steps, a step takes 0.5 s, "
            "spread 0.03 (at most 0.1)"
        ),
    ),
    "neither": ({}, ""),
}


@pytest.mark.parametrize(("fields", "want"), FACTS.values(), ids=FACTS)
def test_explain_has_a_line_for_each_fact(fields: dict[str, object], want: str) -> None:
    assert shown(**fields) == want


def test_explain_shows_parts_of_the_price_and_rescales(
    read_api: ReadApi, capsys: pytest.CaptureFixture[str]
) -> None:
    parts = tuple(
        PricePart(resource="cpu", at=1000.0 + 600 * i, cost=9.0 - i, pods=4, price=0.5)
        for i in range(7)
    )
    answer = replace(EXPLAIN_JOB, nodes=(), price=parts, rescales=(DONE, ABORTED))
    read_api.answers["/v1/explain"] = (200, msgspec.json.encode(answer))
    assert main(["explain", "team-a/job/resnet"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["cpu", "now", "9", "4", "0.500"] in lines
    assert ["…", "and", "2", "more,", "see", "-o", "wide"] in lines
    assert ["MoreImportant", "6>4", "team-b/job/bert", "1m40s", "ago", "Done"] in lines
    assert ["Starving", "3>2", "team-b/job/vit", "50s", "ago", "Aborted:", "NotSaved"] in lines
    assert main(["explain", "team-a/job/resnet", "-o", "wide"]) == 0
    assert "and 2 more" not in capsys.readouterr().out


def test_a_job_without_price_and_rescales_has_no_such_tables() -> None:
    plain = api.ExplainResponse(generated_at=0.0, namespace="a", job="a/job/x", state="bound")
    assert admission.price(plain, wide=True) == admission.rescales(plain, wide=True) == []
