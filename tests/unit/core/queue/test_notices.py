"""Conditions and Events of waiting jobs."""

from dataclasses import replace

import pytest

from extender.core.cluster import job_views
from extender.core.cluster.commands import EmitEvent, SetQueuedCondition
from extender.core.cluster.reasons import Reason
from extender.core.queue.notices import (
    GROWING_SECONDS,
    MOST_POD_EVENTS,
    REPEAT_SECONDS,
    YOUNG_SECONDS,
    QueueEntry,
    notify,
)
from extender.core.queue.order import Value
from shared.model import JobKey
from tests.fakes.builders import make_node, make_owner, make_pod
from tests.unit.core.clusters import snapshot_of

KEY = JobKey("default/job/j")
VALUE = Value(job=KEY, u=5, b=50, l=5, e=60, m=3, e_normalised=0, m_normalised=0, v=0, v_rounded=0)


def entry(reason: Reason, *pods: dict[str, object]) -> QueueEntry:
    owner = make_owner("j", size=len(pods))
    members = [make_pod(f"j-{i}", owner=owner, index=i, **pod) for i, pod in enumerate(pods)]
    job = job_views.view(snapshot_of(make_node("a"), owner, members), KEY)
    return QueueEntry(job, VALUE, reason, reason.message)


@pytest.mark.parametrize("reason", Reason)
def test_no_status_of_a_pod_that_never_had_our_gate_is_written(reason: Reason) -> None:
    """A status patch would send it back into kube-scheduler's queue (docs/adr/0002)."""
    waiting = entry(reason, {"gated": True}, {}, {"node": "a"})
    _, commands = notify([waiting], {}, now_seconds=60.0)
    conditions = [c.pod for c in commands if isinstance(c, SetQueuedCondition)]
    assert conditions == ([] if reason is Reason.RELEASING else ["default/j-0"])


@pytest.mark.parametrize("reason", sorted(set(Reason) - {Reason.RELEASING}))
def test_condition_and_event_have_the_same_token_and_are_written_once(reason: Reason) -> None:
    waiting = entry(reason, {"gated": True})
    notices, commands = notify([waiting], {}, now_seconds=60.0)
    words = [c.reason for c in commands if isinstance(c, SetQueuedCondition | EmitEvent)]
    assert words == [reason, reason, reason]
    seen = entry(reason, {"gated": True, "queued_reason": reason.value})
    assert notify([seen], notices, now_seconds=61.0) == (notices, ())


def test_a_new_job_gets_no_event_yet() -> None:
    waiting = entry(Reason.GANG_INCOMPLETE, {"gated": True})
    assert notify([waiting], {}, now_seconds=YOUNG_SECONDS / 2)[1] == ()


GROWING: dict[str, tuple[float, float, bool]] = {
    "its last pod came just now": (20.0, 20.0 + YOUNG_SECONDS / 2, False),
    "no pod came for a while": (20.0, 20.0 + YOUNG_SECONDS, True),
    "pods have been coming for long": (GROWING_SECONDS, GROWING_SECONDS + 1.0, True),
}


@pytest.mark.parametrize(("last", "now", "written"), GROWING.values(), ids=GROWING)
def test_a_job_whose_pods_are_still_created_gets_no_event_yet(
    last: float, now: float, *, written: bool
) -> None:
    pods = [{"gated": True, "created_at": at} for at in (1.0, last)]
    _, commands = notify([entry(Reason.GANG_INCOMPLETE, *pods)], {}, now_seconds=now)
    assert bool(commands) is written


def test_the_event_of_an_ignored_annotation_replaces_no_other_event() -> None:
    waiting = replace(entry(Reason.GANG_INCOMPLETE, {"gated": True}), note="an annotation")
    _, commands = notify([waiting], {}, now_seconds=60.0)
    events = [c for c in commands if isinstance(c, EmitEvent) and c.about.kind == "Job"]
    assert [event.reason for event in events] == ["AnnotationIgnored", "GangIncomplete"]
    assert len({event.action for event in events}) == 2


def events_on_pods(commands) -> list[tuple[str, str]]:
    return [
        (c.about.name, c.reason)
        for c in commands
        if isinstance(c, EmitEvent) and c.about.kind == "Pod"
    ]


def test_each_waiting_pod_gets_an_event_when_the_reason_changes() -> None:
    """Where `kubectl describe pod` shows it (defect B2)."""
    waiting = entry(Reason.GANG_DOES_NOT_FIT, {"gated": True}, {}, {"node": "a"})
    notices, commands = notify([waiting], {}, now_seconds=60.0)
    assert events_on_pods(commands) == [("j-0", "GangDoesNotFit"), ("j-1", "GangDoesNotFit")]
    assert events_on_pods(notify([waiting], notices, now_seconds=61.0)[1]) == []
    changed = entry(Reason.FRAGMENTED, {"gated": True})
    assert events_on_pods(notify([changed], notices, now_seconds=62.0)[1]) == [
        ("j-0", "Fragmented")
    ]


def test_a_restart_writes_no_second_event_about_the_same_reason() -> None:
    had = entry(Reason.FRAGMENTED, {"gated": True, "queued_reason": "Fragmented"})
    assert events_on_pods(notify([had], {}, now_seconds=60.0)[1]) == []


def test_events_are_written_again_before_the_api_server_has_deleted_them() -> None:
    waiting = entry(Reason.FRAGMENTED, {"gated": True, "queued_reason": "Fragmented"})
    notices, _ = notify([waiting], {}, now_seconds=60.0)
    due = 60.0 + REPEAT_SECONDS
    assert events_on_pods(notify([waiting], notices, now_seconds=due - 1.0)[1]) == []
    again, commands = notify([waiting], notices, now_seconds=due)
    assert events_on_pods(commands) == [("j-0", "Fragmented")]
    assert events_on_pods(notify([waiting], again, now_seconds=due + 1.0)[1]) == []


def test_a_large_gang_gets_a_bounded_number_of_events() -> None:
    pods = [{"gated": True} for _ in range(2 * MOST_POD_EVENTS)]
    _, commands = notify([entry(Reason.FRAGMENTED, *pods)], {}, now_seconds=60.0)
    assert len(events_on_pods(commands)) == MOST_POD_EVENTS
    assert sum(isinstance(c, SetQueuedCondition) for c in commands) == len(pods)
