"""What users write on a job is read once, into typed values with their problems."""

import pytest

from extender.core.cluster import job_spec
from extender.core.cluster.job_spec import JobSpec, Shrink, WorkerRange
from extender.core.cluster.training_spec import Training
from extender.core.cluster.utility import Steps
from extender.core.kinds.base import Owners
from shared import labels
from shared.errors import InputError
from tests.fakes.builders import make_owner, make_pod

WORK = "epochs=2,chunks=3,batches=4,step=1.5s"
WRITTEN = {
    labels.MAX_WAIT: "20m",
    labels.WORKERS: "2..6",
    labels.SHRINK: "terminate",
    labels.CHECKPOINT: "/data/run",
    labels.UTILITY: "steps:1h=10",
    labels.TRAINING: WORK,
}


def read(**changed: str) -> JobSpec:
    written = WRITTEN | {
        f"{labels.DOMAIN}/{key.replace('_', '-')}": v for key, v in changed.items()
    }
    owner = make_owner(annotations=written)
    return job_spec.read(make_pod(owner=owner), Owners((owner,)), (owner,))


def test_annotations_are_typed_values() -> None:
    spec = read()
    assert (spec.max_wait_seconds, spec.workers) == (1200.0, WorkerRange(2, 6))
    assert (spec.shrink, spec.has_checkpoint, spec.problems) == (Shrink.TERMINATE, True, ())
    assert spec.utility is not None
    assert (spec.utility.text, spec.utility.get()) == ("steps:1h=10", Steps(((3600.0, 10.0),)))
    assert spec.training is not None
    assert spec.training.get() == Training(2, 3, 4, step_seconds=1.5)


def test_a_bad_annotation_is_a_problem_and_nothing_else_counts() -> None:
    spec = read(shrink="kill")
    (problem,) = spec.problems
    assert problem.field == f"annotation {labels.SHRINK}"
    assert (problem.value, problem.expected) == ("kill", "checkpoint or terminate")
    assert problem.message == str(problem.error())
    assert spec == JobSpec(has_checkpoint=True, problems=spec.problems)


def test_a_bad_utility_is_a_problem_only_where_jobs_are_admitted_by_price() -> None:
    spec = read(utility="much")
    assert spec.problems == ()
    assert spec.utility is not None
    assert (spec.utility.text, spec.utility.value) == ("much", None)
    with pytest.raises(InputError, match=f"annotation {labels.UTILITY}: 'much' is not"):
        spec.utility.get()
