"""``shuntyard explain``: its subject and its output."""

import msgspec
import pytest

from cli import arguments
from cli.views import explain
from cli.views.terminal import Terminal
from shared.progress import Category, Span, Stage
from shared.readapi import api
from shared.readapi.answer import FaultEntry
from shared.readapi.explanation import Ahead, Change, NodeGroup, Step, StepKind, Tried
from tests.fakes.answers import EXPLAIN

GPU = "nvidia.com/gpu"
TAINT = "dedicated=ml:NoSchedule"
WAITS = api.ExplainResponse(
    generated_at=1000.0,
    namespace="default",
    job="default/job/train",
    state="gated",
    reason="GangDoesNotFit",
    message="the gang asks for more than is free",
    position=2,
    ahead=(Ahead(position=1, job="default/job/big", reason="MaxWaitDraining", v=1250.5),),
    needs=8,
    fits=5,
    cause=GPU,
    short={GPU: 3, "memory": 2**30},
    tried=(
        Tried(role="ps", pods=1, fits=1, requests={"cpu": 500, "pods": 1}),
        Tried(
            role="worker",
            pods=8,
            fits=5,
            requests={"cpu": 1500, GPU: 1, "pods": 1},
            nodes=(
                NodeGroup(says="fit", nodes=("a", "b"), fits=5),
                NodeGroup(
                    causes=("taint",),
                    says=f"taint {TAINT}",
                    nodes=("c", "d", "e", "f"),
                    short={},
                ),
            ),
        ),
    ),
    changes=(
        Change(
            kind=StepKind.LOWER_MIN_AVAILABLE,
            says="lower shuntyard.io/min-available from 8 to 5, if it can train with less",
            steps=(),
        ),
        Change(
            kind=StepKind.WAIT,
            says="wait until default/job/other ends",
            steps=(Step(kind=StepKind.WAIT, subject="default/job/other", at=1300.0),),
        ),
    ),
)
TEXT = """\
Job:      default/job/train
State:    waiting
Reason:   GangDoesNotFit: the gang asks for more than is free
Queue:    2, behind default/job/big (MaxWaitDraining, score 1250.5)
Needs:    8 pods at once, 5 fit; missing: 1 GiB memory, 3 GPUs
Cause:    GPU

ROLE    PODS  REQUESTS         FIT  NODES  VERDICT                        NAMES
worker     8  1 GPU, 1.5 CPUs    5      2  room for 5                     a,b
                                        4  taint dedicated=ml:NoSchedule  c,d,e,…

What would make it run, each alone:
  1. lower shuntyard.io/min-available from 8 to 5, if it can train with less
  2. wait until default/job/other ends (in 5m)"""
POD_TEXT = """\
Pod:      default/train-0
Job:      default/job/train
State:    waiting
Node:     -
Decision: -

NODE     TOTAL  AFFINITY  LOCALITY  PACKING  PRICE
node-00  0.300     0.000     0.500    0.250  1.000"""
ASKED: dict[str, tuple[str, dict[str, str]]] = {
    "a pod, else a job, of the namespace that was chosen": (
        "train",
        {"namespace": "chosen", "name": "train"},
    ),
    "a pod": ("pod/train", {"namespace": "chosen", "pod": "train"}),
    "a job of any kind": ("job/train", {"namespace": "chosen", "job": "train"}),
    "a name of another namespace": ("team-a/train", {"namespace": "team-a", "name": "train"}),
    "a job as the tables name it": (
        "team-a/pytorchjob/train",
        {"namespace": "team-a", "job": "train", "kind": "pytorchjob"},
    ),
    "a pod of another namespace": ("team-a/pod/train", {"namespace": "team-a", "pod": "train"}),
}


@pytest.mark.parametrize(("text", "want"), ASKED.values(), ids=ASKED.keys())
def test_a_subject_has_several_forms(text: str, want: dict[str, str]) -> None:
    assert arguments.subject_query(text, "chosen") == want


STARTS: dict[str, tuple[dict[str, float | str | None], str]] = {
    "with its band": (
        {"estimated_start": 1290.0, "earliest_start": 1130.0, "latest_start": 1610.0},
        "Starts:   in 4m (in 2m to 10m): durations by annotation",
    ),
    "not before a time": (
        {"estimated_start": 1290.0, "earliest_start": 1130.0},
        "Starts:   in 4m (in 2m or later): durations by annotation",
    ),
    "unknown": ({}, "Starts:   unknown: durations by annotation"),
}


@pytest.mark.parametrize(("fields", "want"), STARTS.values(), ids=STARTS.keys())
def test_the_expected_start_is_shown(fields, want: str) -> None:
    answer = msgspec.structs.replace(WAITS, estimate="durations by annotation", **fields)
    assert want in list(explain.explain(answer, wide=False))


def test_a_waiting_job_is_shown_with_its_nodes_by_verdict_and_its_changes() -> None:
    assert "\n".join(explain.explain(WAITS, wide=False)) == TEXT


def test_wide_names_every_node() -> None:
    assert any(line.endswith("c,d,e,f") for line in explain.explain(WAITS, wide=True))


def test_a_message_without_a_reason_is_shown() -> None:
    """As of a job that was released without a pin (defect B8)."""
    loose = msgspec.structs.replace(WAITS, reason="", message="released without a pin")
    assert "Reason:   released without a pin" in explain.explain(loose, wide=False)


def test_a_pod_is_shown_with_the_terms_of_its_nodes() -> None:
    pod = msgspec.structs.replace(WAITS, pod="train-0", reason="", message="", needs=0)
    pod = msgspec.structs.replace(pod, position=None)
    pod = msgspec.structs.replace(pod, cause="", tried=(), changes=(), nodes=EXPLAIN.nodes[:1])
    assert "\n".join(explain.explain(pod, wide=False)) == POD_TEXT


def test_a_single_change_has_its_own_heading() -> None:
    one = msgspec.structs.replace(WAITS, changes=WAITS.changes[:1])
    assert "What would make it run:" in explain.explain(one, wide=False)


def test_a_pod_without_a_possible_node_says_so() -> None:
    alone = msgspec.structs.replace(WAITS, pod="train-0", tried=(), changes=(), nodes=())
    assert explain.explain(alone, wide=False)[-1] == "no node can take it now"


def test_what_is_wrong_with_the_training_has_a_line():
    message = "no progress for 7 min, and pod train-2 on node n2 has idled for 7 min"
    fault = FaultEntry(kind="Hung", pod="train-2", node="n2", since=880.0, message=message)
    runs = api.ExplainResponse(
        generated_at=1000.0, namespace="default", job="default/job/train", state="bound"
    )
    lines = explain.explain(msgspec.structs.replace(runs, faults=(fault,)), wide=False)
    assert f"Training: Hung, found 2m00s ago: {message}" in lines
    assert not any(line.startswith("Training:") for line in explain.explain(runs, wide=False))


def test_training_is_shown_with_how_it_is_read_and_what_is_not_understood() -> None:
    progress = api.ProgressEntry(
        pod="train-0",
        metric="loss",
        category=Category.PROGRESSING,
        source="printed",
        value=2.5,
        step=100,
        total_steps=1000,
        remaining=Span(3600.0, 3000.0, 4200.0),
        further=Span(0.2, 0.1, 0.34),
        specon=Category.WATCHING,
        stage=Stage.IMPROVING,
        evidence="improving (loss 2.5 ± 0.02)",
        updated_at=990.0,
    )
    why = "train-1: 100 lines or more read, no values found: set format=… or regex=…"
    answer = msgspec.structs.replace(WAITS, progress=progress, progress_problem=why)
    lines = explain.explain(answer, wide=False)
    left = "1h00m (50m00s to 1h10m) left"
    assert f"Progress: loss=2.5, step 100/1000, progressing, {left}, read as printed" in lines
    curve = "improving (loss 2.5 ± 0.02), SpeCon: watching, 0.1 to 0.34 better at the end"
    assert f"Curve:    {curve}" in lines
    assert f"Metrics:  {why}" in lines


@pytest.mark.parametrize("width", [80, 100, 200])
def test_the_table_of_nodes_fits_the_terminal(width: int) -> None:
    screen = Terminal(width, blocks=True, colours=False, height=30)
    lines = explain.tried(WAITS, wide=False, screen=screen)
    assert len(lines) > 1
    assert max(map(len, lines)) <= width


def test_on_a_terminal_long_texts_are_wrapped_below_their_beginning() -> None:
    message = "the gang asks for more than is free: 8 GPUs needed, 7 GPUs free"
    long = msgspec.structs.replace(WAITS, message=message)
    screen = Terminal(60, blocks=True, colours=False, height=24)
    lines = explain.explain(long, wide=False, screen=screen)
    assert max(map(len, lines[: lines.index("")])) <= 60
    start = next(i for i, line in enumerate(lines) if line.startswith("Reason:"))
    assert lines[start : start + 2] == [
        "Reason:   GangDoesNotFit: the gang asks for more than is",
        "          free: 8 GPUs needed, 7 GPUs free",
    ]
