"""Keys of our domain without effect: the user learns of each (defect B3)."""

import pytest

from extender.core.cluster import annotation_warnings, job_views
from extender.core.cluster.commands import EmitEvent, ReleaseGang
from extender.core.cluster.session import Reading
from extender.core.kinds.base import Owners
from extender.core.parameters.combined import CoreParameters
from extender.core.queue.state import QueueState
from shared import labels
from shared.model import JobKey
from tests.fakes.builders import make_node, make_owner, make_pod
from tests.fakes.deciding import queue_pass
from tests.unit.core.clusters import snapshot_of

NODE = make_node("a")

CASES: dict[str, tuple[dict[str, str], dict[str, str], str]] = {
    "a misspelt annotation": (
        {},
        {"shuntyard.io/max-wiat": "20m"},
        "unknown annotation shuntyard.io/max-wiat, did you mean max-wait?",
    ),
    "a misspelt label": (
        {"shuntyard.io/rolle": "worker"},
        {},
        "unknown label shuntyard.io/rolle, did you mean role?",
    ),
    "a key that is like none of ours": (
        {},
        {"shuntyard.io/zzzzzz": "1"},
        "unknown annotation shuntyard.io/zzzzzz",
    ),
    "an annotation as a label": (
        {labels.MAX_WAIT: "20m"},
        {},
        "label shuntyard.io/max-wait has no effect: set it as an annotation",
    ),
    "a label as an annotation": (
        {},
        {labels.ROLE: "ps"},
        "annotation shuntyard.io/role has no effect: set it as a label",
    ),
    "a key of the namespace": (
        {},
        {labels.USER_PRIORITY: "9"},
        "annotation shuntyard.io/user-priority has no effect here: set it on the Namespace",
    ),
    "the gate as a label": (
        {labels.GATE: "true"},
        {},
        "label shuntyard.io/queue has no effect: it is a scheduling gate (spec.schedulingGates)",
    ),
}


@pytest.mark.parametrize(("marks", "notes", "line"), CASES.values(), ids=CASES)
def test_a_key_without_effect_is_named_with_the_next_step(marks, notes, line):
    assert jobs_of(marks, notes).warnings == (line,)


def jobs_of(marks, notes, owner_notes=None, **more):
    owner = make_owner("j", size=2, annotations=owner_notes or {})
    pods = [
        make_pod(f"j-{i}", owner=owner, labels=marks, annotations=notes, gated=True, **more)
        for i in range(2)
    ]
    return job_views.view(snapshot_of(NODE, owner, pods), JobKey("default/job/j"))


@pytest.mark.parametrize("key", sorted(labels.KEYS - labels.NAMESPACE_KEYS - labels.NODE_KEYS))
def test_every_key_of_ours_is_known_where_it_counts(key):
    marks, notes = ({key: "x"}, {}) if key in labels.LABEL_KEYS else ({}, {key: "x"})
    pod = make_pod(labels=marks, annotations=notes)
    assert annotation_warnings.of_pod(pod, Owners()) == ()


def test_keys_of_others_are_left_alone():
    assert jobs_of({"app": "x"}, {"example.com/max-wiat": "1"}).warnings == ()


def test_a_misspelt_key_of_the_owner_is_named_too():
    job = jobs_of({}, {}, {"shuntyard.io/utilty": "steps:"})
    assert job.warnings == ("unknown annotation shuntyard.io/utilty, did you mean utility?",)


def test_a_thousand_unknown_keys_give_a_bounded_number_of_short_lines():
    notes = {f"shuntyard.io/{'k' * 60}{i}{'é' * 200}": "" for i in range(1000)}
    lines = jobs_of({}, notes).warnings
    assert len(lines) == annotation_warnings.MOST
    assert max(map(len, lines)) < 200


def test_a_job_that_starts_at_once_gets_the_event_all_the_same():
    owner = make_owner("j", size=1)
    note = {"shuntyard.io/max-wiat": "1s"}
    pod = make_pod("j-0", owner=owner, annotations=note, gated=True)
    cycle = queue_pass(
        snapshot_of(NODE, owner, pod), QueueState(), Reading(60, 60), CoreParameters()
    )
    assert [type(c) for c in cycle.commands] == [ReleaseGang, EmitEvent]
    event = cycle.commands[1]
    assert (event.reason, event.about.kind) == ("AnnotationIgnored", "Job")
    assert "did you mean max-wait?" in event.message
