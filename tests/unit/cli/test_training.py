"""Training progress in cells of a table."""

import math

import pytest
from msgspec.structs import replace

from cli.views import nodes, terminal, training
from shared.progress import Category, Span, Use
from shared.readapi import api

ENCODINGS = {
    "utf-8": True,
    "UTF-16": True,
    "ascii": False,
    "latin-1": False,
    "x": False,
    None: False,
}


@pytest.mark.parametrize(("encoding", "want"), ENCODINGS.items())
def test_blocks_are_used_where_they_can_be_shown(encoding: str | None, want: bool) -> None:
    assert terminal.can_show_blocks(encoding) is want


ENTRY = api.ProgressEntry(
    pod="p", metric="loss", category=Category.CONVERGED, value=0.000123456, updated_at=1.0
)
CELLS = {
    "little is known": (ENTRY, ["converged", "loss=0.0001235", "-", "-", "-"]),
    "nothing is known": (None, ["-", "-", "-", "-", "-"]),
    "no value yet": (replace(ENTRY, value=None), ["converged", "loss", "-", "-", "-"]),
    "no number": (replace(ENTRY, diverged=True), ["converged", "loss=nan", "-", "-", "-"]),
    "stale": (replace(ENTRY, stale=True), ["converged,stale", "loss=0.0001235", "-", "-", "-"]),
    "without an end": (replace(ENTRY, step=7), ["converged", "loss=0.0001235", "-", "7", "-"]),
    "with an end": (
        replace(ENTRY, step=7, total_steps=9, remaining=Span(100.0, 59.0, 4000.0)),
        ["converged", "loss=0.0001235", "-", "7/9", "1m40s (59s to 1h06m)"],
    ),
}


@pytest.mark.parametrize(("entry", "want"), CELLS.values(), ids=CELLS)
def test_progress_is_shown_as_far_as_it_is_known(entry, want: list[str]) -> None:
    cells = [training.category(entry), training.metric(entry), training.curve(entry, blocks=False)]
    assert [*cells, training.step(entry), training.eta(entry)] == want


def test_the_evidence_is_shown_with_specons_category() -> None:
    words = "plateau since step 1200 (loss 2.31 ± 0.02)"
    entry = replace(ENTRY, evidence=words)
    assert training.evidence(entry) == words
    both = replace(entry, specon=Category.WATCHING)
    assert training.evidence(both) == f"{words}, SpeCon: watching"
    assert [training.evidence(one) for one in (None, ENTRY)] == ["-", "-"]


SAVED = {
    "no directory": (None, "-"),
    "nothing saved": (api.CheckpointEntry(pod="p"), "none yet"),
    "cannot be requested": (api.CheckpointEntry(pod="p", problem="TrainerSilent"), "TrainerSilent"),
    "saved": (api.CheckpointEntry(pod="p", step=5, age_seconds=61), "5 1m01s ago"),
    "saved, time unknown": (api.CheckpointEntry(pod="p", step=5), "5"),
    "saved, cannot be requested": (
        api.CheckpointEntry(pod="p", step=5, problem="ExitsZeroOnTerm"),
        "5 (ExitsZeroOnTerm)",
    ),
}


@pytest.mark.parametrize(("entry", "want"), SAVED.values(), ids=SAVED)
def test_a_checkpoint_is_shown_with_its_age_and_its_problem(entry, want: str) -> None:
    assert training.checkpoint(entry) == want


AGENT = api.AgentEntry(age_seconds=75.0, stale=False, complete=True, watching=2)
AGENTS = {
    "well": (AGENT, ["1m15s", "0/2/0"]),
    "stale": (replace(AGENT, stale=True, complete=False), ["1m15s,stale", "0/2/0"]),
    "not whole": (replace(AGENT, complete=False), ["1m15s,partial", "0/2/0"]),
    "none": (None, ["-", "-"]),
}


@pytest.mark.parametrize(("entry", "want"), AGENTS.values(), ids=AGENTS)
def test_an_agent_is_shown_with_its_age_and_its_pods_by_category(entry, want) -> None:
    assert [nodes.agent_age(entry), nodes.pods_by_category(entry)] == want


def test_what_a_node_uses_is_shown_as_far_as_it_is_measured() -> None:
    measured = replace(AGENT, use=Use(cpu_cores=math.pi))
    cells = [(nodes.cpu_now(agent), nodes.memory_now(agent)) for agent in (None, AGENT, measured)]
    assert cells == [("-", "-"), ("-", "-"), ("3.14", "-")]
