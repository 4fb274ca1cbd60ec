"""A list of jobs in every state, as the read API answers it."""

from shared.progress import Category, Span
from shared.readapi import api
from shared.readapi.answer import EndEntry, JobState

NOW = 1_795_255_200.0
"""2026-11-21 10:00 UTC."""
GPU = "nvidia.com/gpu"
CURVE = (2.31, 1.93, 1.7, 1.52, 1.38, 1.21, 1.13, 1.02, 0.97, 0.94, 0.92, 0.91)


def entry(job: str, namespace: str, kind: str = "job", **fields: object) -> api.JobEntry:
    given = {"created_at": NOW - 3600, "min_available": 1, "members": 1, **fields}
    given = {"counts": api.MemberCounts(gated=1), **given}
    return api.JobEntry(job=job, namespace=namespace, kind=kind, **given)  # type: ignore[arg-type]


GPT = entry(
    *("gpt-pretrain-32b", "language", "pytorchjob"),
    state=JobState.RUNNING,
    since=NOW - 7500,
    requests={"cpu": 512_000, GPU: 64, "memory": 2**40},
    members=8,
    min_available=8,
    counts=api.MemberCounts(bound=8),
    nodes=tuple(f"gpu-node-{i:04}" for i in range(8)),
    progress=api.ProgressEntry(
        pod="gpt-pretrain-32b-worker-0",
        metric="loss",
        category=Category.WATCHING,
        value=0.9123,
        step=67_000,
        total_steps=120_000,
        curve=CURVE,
        remaining=Span(5400.0, 4800.0, 6300.0),
        updated_at=NOW - 20,
    ),
    end=EndEntry(at=NOW + 6280, why="progress"),
)
RESNET = entry(
    *("resnet", "vision"),
    state=JobState.WAITING,
    since=NOW - 2512,
    requests={"cpu": 32_000, GPU: 32},
    members=4,
    min_available=4,
    counts=api.MemberCounts(gated=4),
    position=1,
    reason="GangDoesNotFit",
    message="the gang asks for more than is free on the nodes that it may use: 32 GPUs "
    "needed, 12 GPUs free on the nodes that may be used",
    estimated_start=NOW + 1150,
    estimate="expected durations",
)
TINY = entry(
    *("tiny", "vision"),
    state=JobState.WAITING,
    since=NOW - 41,
    requests={"cpu": 500},
    position=2,
    reason="WaitsForHead",
    message="there is room, but it is kept for vision/job/resnet",
)
HUGE = entry(
    *("vit-h14", "vision"),
    state=JobState.BLOCKED,
    since=NOW - 90_000,
    requests={"cpu": 8000, GPU: 16},
    reason="NoSuchNode",
    message="no node could run a pod of the gang, even if it were empty: 1 pod asks for 16 "
    "GPUs, and the largest node that it may use has 8 GPUs (8 GPUs missing)",
)
BERT = entry(
    *("bert", "language"),
    state=JobState.STARTING,
    since=NOW - 8,
    requests={"cpu": 4000, GPU: 2},
    counts=api.MemberCounts(seated=1),
    nodes=("gpu-node-0009",),
)
SWEEP = entry(
    *("sweep-17", "language"),
    state=JobState.DONE,
    since=NOW - 600,
    requests={"cpu": 2000},
    counts=api.MemberCounts(succeeded=1),
    nodes=("cpu-node-0001",),
)
CRASH = entry(
    *("sweep-18", "language"),
    state=JobState.FAILED,
    since=NOW - 300,
    requests={"cpu": 2000},
    counts=api.MemberCounts(failed=1),
    nodes=("cpu-node-0001",),
)
LIST = api.JobsResponse(generated_at=NOW, entries=(BERT, GPT, SWEEP, CRASH, RESNET, TINY, HUGE))
"""By namespace and name, as the extender lists them."""
