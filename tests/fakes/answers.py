"""One answer of each kind of the read API, for tests of its clients."""

import msgspec
from msgspec.structs import replace

from shared.progress import Category, Span, Use
from shared.readapi import api
from shared.readapi.answer import JobState
from shared.readapi.explanation import Bill, Place, Shift
from shared.readapi.ledgers import (
    Declined,
    MigrationEntry,
    MoveEntry,
    ParkingEntry,
    ParkingsResponse,
    RescaleEntry,
    RescalesResponse,
    Transition,
)
from shared.readapi.pricing import NodePrices, PricesResponse, Scale, SlotPrices, SlotRow
from shared.readapi.tenancy import NamespaceEntry, NamespacesResponse

TERMS = api.Terms(u=5, b=50, l=5, m=6, e_normalised=0.25, m_normalised=1.0)
QUEUE = api.QueueResponse(
    generated_at=1000.0,
    acting=True,
    order="cps",
    entries=(
        api.QueueEntry(
            position=1,
            job="resnet",
            namespace="team-a",
            kind="Job",
            created_at=925.0,
            v=1250.0,
            terms=TERMS,
            requests={"cpu": 64_000, "nvidia.com/gpu": 16},
            waited_seconds=75.0,
            members=8,
            min_available=8,
            reason="GangDoesNotFit",
            message="not enough room for the whole gang",
        ),
        api.QueueEntry(
            position=2,
            job="bert",
            namespace="team-b",
            kind="PyTorchJob",
            created_at=990.0,
            v=0.0,
            terms=replace(TERMS, e_normalised=0.0, m_normalised=0.0),
            waited_seconds=10.0,
            members=1,
            min_available=None,
            reason="GangSizeUnknown",
            message="the job's number of pods is not stated",
        ),
    ),
)
NODES = api.NodesResponse(
    generated_at=1000.0,
    entries=(
        api.NodeEntry(
            name="node-a",
            ready=True,
            unschedulable=True,
            allocatable={"cpu": 8000, "memory": 32 * 2**30, "pods": 110, "nvidia.com/gpu": 4},
            used={"cpu": 2500, "memory": 2**29, "pods": 3, "nvidia.com/gpu": 1},
            seats=2,
            relative_price=0.3125,
            log_price=1.439,
            agent=api.AgentEntry(
                age_seconds=3.2,
                stale=False,
                complete=True,
                progressing=2,
                converged=1,
                use=Use(cpu_cores=2.25, memory_bytes=3 * 2**30),
                cpu_cores=8.0,
            ),
        ),
    ),
)
JOBS = api.JobsResponse(
    generated_at=1000.0,
    entries=(
        api.JobEntry(
            job="resnet",
            namespace="team-a",
            kind="Job",
            created_at=0.0,
            state=JobState.RUNNING,
            since=400.0,
            requests={"cpu": 6000, "nvidia.com/gpu": 3},
            min_available=3,
            members=3,
            counts=api.MemberCounts(bound=2, succeeded=1),
            nodes=("node-a", "node-b"),
            progress=api.ProgressEntry(
                pod="resnet-0",
                metric="eval_loss",
                category=Category.WATCHING,
                value=0.12345,
                step=1200,
                total_steps=5000,
                curve=tuple(float(x) for x in range(31, -1, -1)),
                remaining=Span(750.0, 600.0, 900.0),
                attempt=2,
                updated_at=999.0,
            ),
            checkpoint=api.CheckpointEntry(pod="resnet-0", step=1000, age_seconds=190.0),
        ),
    ),
)
MIGRATIONS = api.MigrationsResponse(
    generated_at=1000.0,
    acting=True,
    entries=(
        MigrationEntry(
            namespace="team-a",
            name="resnet-0-1a2b3c4d",
            job="resnet",
            kind="job",
            created_at=900.0,
            trigger="converged",
            mover="evict",
            phase="Completed",
            open=False,
            why="gain 120 s against 20 s",
            gain_seconds=120.0,
            cost_seconds=20.0,
            members=(
                MoveEntry(
                    pod="resnet-0",
                    source="node-a",
                    target="node-b",
                    replacement="resnet-0-x",
                    acked_step=1200,
                    ack_bytes=5 * 2**20,
                    ack_seconds=0.8,
                    resumed_step=1200,
                ),
            ),
            transitions=(
                Transition(phase="Requested", at=900.0, seconds=0.5),
                Transition(phase="CheckpointRequested", at=900.5, seconds=8.25),
                Transition(phase="Evicting", at=908.75, seconds=12.0),
                Transition(phase="Completed", at=920.75),
            ),
            downtime_seconds=12.0,
            lost_steps=0,
        ),
        MigrationEntry(
            namespace="team-b",
            name="bert-9f8e7d6c",
            job="bert",
            kind="pytorchjob",
            created_at=990.0,
            trigger="count",
            mover="suspend",
            phase="CheckpointRequested",
            open=True,
            reason="WaitsForAck",
            message="1 of 2 trainers has answered",
            members=(
                MoveEntry(pod="bert-0", source="node-a", target="node-b", acked_step=7),
                MoveEntry(pod="bert-1", source="node-c", target="node-b"),
            ),
            transitions=(Transition(phase="CheckpointRequested", at=990.0, seconds=10.0),),
        ),
    ),
    declined=(
        Declined(job="team-a/job/gpt", reason="NoGain", message="5 s for 20 s", at=940.0),
        Declined(job="team-c/job/vit", reason="NoTarget", message="no node has room", at=999.0),
    ),
)
RESCALES = RescalesResponse(
    generated_at=1000.0,
    acting=True,
    entries=(
        RescaleEntry(
            namespace="team-a",
            id="r-1",
            job="resnet",
            kind="job",
            cause="MoreImportant",
            before=6,
            to=4,
            phase="Done",
            open=False,
            begun_at=900.0,
            since=912.5,
            starts="team-b/job/bert",
            started=True,
            step_seconds_before=0.41,
            step_seconds_after=0.625,
        ),
        RescaleEntry(
            namespace="team-a",
            id="r-2",
            job="resnet",
            kind="job",
            cause="SavesTime",
            before=4,
            to=5,
            phase="Growing",
            open=True,
            begun_at=990.0,
            since=991.0,
            saved_seconds=250.0,
        ),
        RescaleEntry(
            namespace="team-c",
            id="r-3",
            job="gpt",
            kind="pytorchjob",
            cause="Starving",
            before=3,
            to=2,
            phase="Aborted",
            open=False,
            begun_at=950.0,
            since=970.0,
            starts="team-b/job/vit",
            reason="NotSaved",
            message="1 of 3 trainers saved in time",
        ),
    ),
    declined=(
        Declined(job="team-a/job/bert", reason="CoolingDown", message="for 40 s", at=999.0),
        Declined(job="team-c/job/gpt", reason="NoCheckpoint", message="it has none", at=940.0),
    ),
)
PRICES = PricesResponse(
    generated_at=1000.0,
    acting=True,
    kappa=100.0,
    nodes=(
        NodePrices(
            name="node-a",
            prices={"cpu": 0.75, "memory": 0.25, "pods": 0.01},
            dearest="cpu",
            times_idle=31.6228,
        ),
        NodePrices(
            name="node-b",
            prices={"cpu": 0.0, "memory": 0.0, "nvidia.com/gpu": 1.0, "pods": 0.0},
            dearest="nvidia.com/gpu",
            times_idle=100.0,
        ),
    ),
)
SLOTS = SlotPrices(
    slot_seconds=600.0,
    first=1,
    slots=3,
    share=0.5,
    scales={
        "cpu": Scale(log_low=0.0, log_high=4.0),
        "nvidia.com/gpu": Scale(log_low=0.0, log_high=6.0),
    },
    rows=(
        SlotRow(nodes=("node-a", "node-c"), prices={"cpu": (1.0, 0.5, 0.0)}),
        SlotRow(
            nodes=("node-b",), prices={"cpu": (0.0, 0.0, 0.0), "nvidia.com/gpu": (0.9, 0.9, 0.0)}
        ),
    ),
)
EXPLAIN = api.ExplainResponse(
    generated_at=1000.0,
    namespace="team-a",
    pod="resnet-0",
    job="team-a/Job/resnet",
    state="gated",
    reason="GangDoesNotFit",
    message="not enough room for the whole gang",
    nodes=tuple(
        api.NodeTerms(
            node=f"node-{i:02}", affinity=0.0, locality=0.5, packing=0.25, price=1.0, total=0.3
        )
        for i in range(12)
    ),
)

EXPLAIN_JOB = msgspec.structs.replace(EXPLAIN, pod="", needs=8, fits=5)

PARKINGS = ParkingsResponse(
    generated_at=1000.0,
    acting=True,
    entries=(
        ParkingEntry(
            namespace="team-a",
            id="resnet-park-1",
            job="resnet",
            kind="job",
            cause="Share",
            phase="Resumed",
            open=False,
            begun_at=700.0,
            since=960.0,
            starts="team-b/job/bert",
            saved_step=4200,
            save_seconds=3.5,
            waited_seconds=240.0,
            restart_seconds=42.0,
            lost_steps=0,
            message="namespace team-b gets its guaranteed share back",
        ),
        ParkingEntry(
            namespace="team-c",
            id="gpt-park-2",
            job="gpt",
            kind="pytorchjob",
            cause="Drain",
            phase="Aborted",
            open=False,
            begun_at=950.0,
            since=970.0,
            reason="CheckpointTimeout",
            message="a trainer did not save in time",
        ),
    ),
    declined=(
        Declined(
            job="team-c/job/gpt", reason="NotOptedIn", message="it has no checkpoint", at=940.0
        ),
    ),
)

WHAT_IF = api.WhatIfResponse(
    generated_at=1000.0,
    acting=True,
    job="team-a/job/mine",
    pods=3,
    starts_now=True,
    entry=msgspec.structs.replace(
        QUEUE.entries[0], job="mine", position=2, reason="Releasing", estimated_start=1000.0
    ),
    waiting=2,
    places=(
        Place(pod="mine-0", role="worker", node="node-a"),
        Place(pod="mine-1", role="worker", node="node-a"),
        Place(pod="mine-2", role="worker", node="node-b"),
    ),
    bill=Bill(idle=0.5, now=1.0),
    shifts=(
        Shift(
            job="team-b/job/bert",
            position_without=1,
            position_with=2,
            start_without=1030.0,
            start_with=1630.0,
            later_seconds=600.0,
            estimate_without="fits when its turn comes",
            estimate_with="durations by annotation",
        ),
    ),
    notes=("not part of a job: Service of v1",),
)


NAMESPACES = NamespacesResponse(
    generated_at=1000.0,
    acting=True,
    fair_share=True,
    entries=(
        NamespaceEntry(
            namespace="team-a",
            waiting=2,
            running=1,
            held={"cpu": 6500, "memory": 8 * 2**30, "nvidia.com/gpu": 4, "pods": 3},
            share=0.5,
            weight=2.0,
            guaranteed_share=0.25,
            limit=0.75,
        ),
        NamespaceEntry(
            namespace="team-b",
            waiting=1,
            running=0,
            held={},
            share=0.0,
            weight=1.0,
            guaranteed_share=0.0,
            problem="annotation shuntyard.io/weight of namespace team-b: 'heavy'",
        ),
    ),
)
