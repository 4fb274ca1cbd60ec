"""Each change that `explain` offers to a job that is not admitted admits it, by the real pass."""

from hypothesis import HealthCheck, assume, event, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace as changed

from extender.core.cluster.session import Reading
from extender.core.cluster.snapshot import Snapshot
from extender.core.pricing.history import History
from shared import labels
from shared.model import Entity, Owner, Pod
from shared.readapi.explanation import Change, StepKind
from tests.unit.core.clusters import snapshot_of
from tests.unit.core.explain.priced_jobs import JOB, NODE, NOW, explained, job, priced

SIGMOIDS = st.builds(
    "sigmoid:{},{},{}m".format,
    st.sampled_from([0.001, 0.1, 1, 1000]),
    st.sampled_from([0, 1, 20]),
    st.integers(10, 200),
)
STEPS = st.builds("steps:{}m={}".format, st.integers(10, 200), st.sampled_from([0.001, 1, 1000]))
UTILITIES = SIGMOIDS | STEPS


@st.composite
def rivals(draw: st.DrawFn) -> tuple[list[Entity], str, int, int]:
    """A job that comes first, and utility, workers and steps of one that comes after it."""
    workers = draw(st.integers(1, 4))
    first = job(
        "first",
        draw(st.sampled_from(["sigmoid:1000,0,10h", "steps:10h=5000"])),
        workers=4,
        steps=4 * draw(st.integers(400, 4500)),
    )
    return first, draw(UTILITIES), workers, workers * draw(st.integers(100, 2000))


def admitted(snapshot: Snapshot, history: History, later: float = 0.0) -> bool:
    at = Reading(NOW.now + later, NOW.monotonic + later)
    return priced(snapshot, history, now=at).statuses[JOB].plan is not None


@given(rivals())
@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
def test_each_offered_change_admits_the_job(
    jobs: tuple[list[Entity], str, int, int],
) -> None:
    first, utility, workers, steps = jobs

    def late(utility: str) -> list[Entity]:
        return job("late", utility, workers=workers, steps=steps, created_at=1.0)

    snapshot = snapshot_of(NODE, first, late(utility))
    outcome = priced(snapshot)
    assume(outcome.statuses[JOB].plan is None)
    history = History(jobs=outcome.state.history.jobs)
    plans = {command.owner.uid: command.annotations for command in outcome.commands}

    def running(one: Entity) -> Entity:
        """The first job goes on by its plan."""
        if isinstance(one, Owner):
            notes = {k: v for k, v in plans[one.uid].items() if v is not None}
            return changed(one, annotations={**one.annotations, **notes})
        assert isinstance(one, Pod)
        return changed(one, node_name=NODE.name, gates=(), phase="Running", scheduled_at=NOW.now)

    def holds(change: Change) -> bool:
        (step,) = change.steps
        if step.kind is StepKind.WAIT:
            assert step.at is not None
            then = snapshot_of(NODE, [running(one) for one in first], late(utility))
            return admitted(then, history, step.at - NOW.now)
        assert step.field == labels.UTILITY
        return admitted(snapshot_of(NODE, first, late(step.after)), history)

    explanation = explained(snapshot, outcome, history)
    for change in explanation.changes:
        event(change.kind.value)
    assert [change.says for change in explanation.changes if not holds(change)] == []
