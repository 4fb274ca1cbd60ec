"""Names, units and bounds of the agent's metrics."""

import re

from agent.metrics import MOST_PODS, AgentMetrics
from agent.reporting.outbox import NodeState
from shared.model import Uid
from shared.progress import (
    Category,
    Checkpoint,
    Evidence,
    GpuHealth,
    PodReport,
    Progress,
    Span,
    Stage,
    Use,
)
from shared.wire import PodPlace
from tests.fakes.extender import place

PROGRESS = Progress(
    metric="loss",
    source="jsonl",
    updated_at=5.0,
    step=7,
    value=0.5,
    category=Category.WATCHING,
    evidence=Evidence(stage=Stage.RISING),
    remaining_seconds=Span(60.0, 50.0, 70.0),
)
CHECKPOINT = Checkpoint(step=6, saved_at=4.0)
USE = Use(cpu_cores=1.5, memory_bytes=100)


def metrics(*pods: tuple[PodPlace, PodReport]) -> AgentMetrics:
    found = AgentMetrics()
    found.pods.places = {Uid(one.uid): one for one, _ in pods}
    found.pods.state = NodeState({Uid(one.uid): report for one, report in pods})
    return found


def pod(name: str, step: int, **fields: object) -> tuple[PodPlace, PodReport]:
    found = place(name, **fields)
    progress = Progress(metric="loss", source="jsonl", updated_at=1.0, step=step)
    return found, PodReport(uid=Uid(found.uid), progress=progress)


def value(found: AgentMetrics, name: str, **labels: str) -> float | None:
    return found.registry.get_sample_value(f"shuntyard_agent_{name}", labels)


def test_every_name_has_our_prefix_and_ends_in_its_unit() -> None:
    units = (
        r"_(seconds|bytes|cores|ratio|info|total|pods|files|events|replicas|steps?|value|category"
        r"|stage|gpus|errors)$"
    )
    suffixes = {"counter": "_total", "info": "_info"}
    for metric in AgentMetrics().registry.collect():
        if metric.name.startswith(("process_", "python_")):
            continue
        name = metric.name + suffixes.get(metric.type, "")
        assert re.match(r"shuntyard_agent_", name), name
        assert re.search(units, name), name
        assert metric.documentation.endswith("."), name


def test_a_pods_series_show_its_progress() -> None:
    where = place("train", role="worker", index=3)
    report = PodReport(uid=Uid(where.uid), progress=PROGRESS, checkpoint=CHECKPOINT, use=USE)
    found = metrics((where, report))
    labels = {"job_namespace": "team", "job_name": "train", "role": "worker", "index": "3"}
    names = {
        "job_step": 7,
        "job_value": 0.5,
        "job_remaining_seconds": 60,
        "job_checkpoint_step": 6,
        "job_checkpoint_timestamp_seconds": 4,
        "job_cpu_cores": 1.5,
        "job_memory_bytes": 100,
    }
    assert {name: value(found, name, **labels) for name in names} == names
    assert value(found, "job_category", category="watching", **labels) == 1
    assert value(found, "job_category", category="progressing", **labels) is None
    assert value(found, "job_stage", stage="rising", **labels) == 1


def test_gpus_are_shown_as_the_heartbeat_has_them() -> None:
    found = metrics()
    assert value(found, "gpus") is None
    found.pods.state = NodeState(gpus=GpuHealth(devices=8, lost=1, pending_remaps=2))
    names = {"gpus": 8, "lost_gpus": 1, "remap_pending_gpus": 2, "remap_failed_gpus": 0}
    assert {name: value(found, name) for name in names} == names
    assert value(found, "gpu_uncorrected_errors") is None


def test_an_unknown_value_has_no_series() -> None:
    where = place("train")
    text = metrics((where, PodReport(uid=Uid(where.uid)))).render().decode()
    assert 'job_name="train"' not in text


def test_series_are_bounded_and_what_was_left_out_is_counted() -> None:
    pods = [pod(f"train-{n}", n, created_at=float(n)) for n in range(MOST_PODS + 5)]
    found = metrics(*reversed(pods))
    text = found.render().decode()
    assert text.count("shuntyard_agent_job_step{") == MOST_PODS
    assert value(found, "left_out_pods") == 5
    assert f'job_name="train-{MOST_PODS - 1}"' in text
    assert f'job_name="train-{MOST_PODS}"' not in text


def test_the_newest_of_pods_with_the_same_labels_counts() -> None:
    old = pod("train-a", 90, job="train", created_at=1.0)
    new = pod("train-b", 50, job="train", created_at=2.0)
    found = metrics(new, old)
    labels = {"job_namespace": "team", "job_name": "train", "role": "", "index": ""}
    assert value(found, "job_step", **labels) == 50
    assert value(found, "left_out_pods") == 1


def test_two_agents_do_not_share_a_registry() -> None:
    first, second = AgentMetrics(), AgentMetrics()
    first.lines.inc()
    assert value(second, "lines_total") == 0
