"""Explanations on any small cluster: there is always a change, and it makes the job run."""

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shared import labels
from shared.model import Entity, Toleration
from shared.readapi.explanation import StepKind
from tests.fakes.builders import make_gang, make_node, make_owner, make_shape
from tests.unit.core.explain.situation import NOW, Situation, cluster, running
from tests.unit.core.explain.test_situations import after, explained, released

GPU = "nvidia.com/gpu"


@st.composite
def nodes(draw: st.DrawFn) -> list[Entity]:
    return [
        make_node(
            f"n{i}",
            cpu=draw(st.sampled_from(["2", "4", "8"])),
            pods=draw(st.sampled_from([2, 110])),
            allocatable={GPU: gpus} if (gpus := draw(st.sampled_from(["", "1", "4"]))) else {},
            labels={"disk": draw(st.sampled_from(["ssd", "hdd"]))},
            taints=draw(st.sampled_from([(), (), ("dedicated=ml:NoSchedule",)])),
            unschedulable=draw(st.sampled_from([False, False, True])),
        )
        for i in range(draw(st.integers(1, 4)))
    ]


@st.composite
def situations(draw: st.DrawFn) -> Situation:
    there = draw(nodes())
    others = [
        running(f"other-{i}", [f"n{draw(st.integers(0, len(there) - 1))}"], cpu="1500m")
        for i in range(draw(st.integers(0, 4)))
    ]
    shape = make_shape(
        cpu=draw(st.sampled_from(["500m", "2", "3", "6"])),
        requests=draw(st.sampled_from([{}, {}, {GPU: "1"}, {GPU: "2"}])),
        node_selector=draw(st.sampled_from([{}, {}, {"disk": "ssd"}, {"disk": "sdd"}])),
        tolerations=draw(st.sampled_from([(), (Toleration("dedicated", "Exists"),)])),
        host_ports=draw(st.sampled_from([(), (), (80,)])),
    )
    size, there_are = draw(st.integers(1, 4)), draw(st.sampled_from([0, 0, 0, 1]))
    notes = draw(st.sampled_from([{}, {}, {labels.MIN_AVAILABLE: "2"}, {labels.MAX_WAIT: "x"}]))
    owner = make_owner("train", size=size, created_at=NOW - 60, annotations=notes)
    pods = make_gang(
        "train",
        workers=max(1, size - there_are),
        ps=draw(st.sampled_from([0, 0, 1])),
        owner=owner,
        gated=True,
        shape=shape,
    )
    return Situation(cluster(there, *others, [owner, *pods]), cause="", smallest="")


@given(situations())
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_a_change_is_offered_and_each_change_makes_the_job_run(s: Situation) -> None:
    if s.key in released(s):
        assert explained(s).reason == "Releasing"
        return
    explanation = explained(s)
    assert explanation.reason
    assert explanation.cause
    assert explanation.changes
    assert [c.says for c in explanation.changes if s.key not in released(after(s, c))] == []


@given(situations())
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_no_request_is_lowered_where_the_gang_would_run_with_a_larger_one(s: Situation) -> None:
    for change in explained(s).changes:
        if [step.kind for step in change.steps] != [StepKind.LOWER_REQUEST]:
            continue
        (step,) = change.steps
        unit = 2**20 if step.field == "memory" else 1
        if int(step.after) + unit < int(step.before):
            larger = type(step)(
                kind=step.kind,
                subject=step.subject,
                role=step.role,
                field=step.field,
                after=str(int(step.after) + unit),
            )
            more = type(change)(kind=change.kind, says=change.says, steps=(larger,))
            assert s.key not in released(after(s, more)), change.says
