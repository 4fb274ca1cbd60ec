"""The history of past jobs: its text, its limits, and the merge of two replicas."""

import msgspec
import pytest
from msgspec.structs import replace

from extender.core.pricing import history
from extender.core.pricing.history import History, PastJob
from extender.core.records.slot_plan import JobRequest
from shared.errors import InputError
from shared.model import Uid
from tests.fakes.builders import make_shape

FIELD = "ConfigMap shuntyard-system/shuntyard-admission-history, key history"


def past(number: int, *, training: str = "epochs=1") -> PastJob:
    request = JobRequest(
        utility="sigmoid:1,0,1h", training=training, worker=make_shape(cpu="1"), most=4
    )
    return PastJob(Uid(f"uid-{number}"), request)


SOME = History((past(1), past(2)), {"a/job/x": 1.5, "a/job/y": 0.25})


def test_the_text_is_read_as_it_was_written() -> None:
    line = history.text(SOME)
    assert "\n" not in line
    assert history.read(line, field=FIELD) == SOME
    assert history.read("", field=FIELD) == History()


def test_a_text_of_limited_size_keeps_the_newest() -> None:
    long = "x" * 4000
    large = History(
        tuple(past(i, training=long) for i in range(200)),
        {f"team/job/{'n' * 200}-{i}": 1.0 for i in range(1000)},
    )
    line = history.text(large)
    assert len(line.encode()) <= history.MOST_BYTES
    kept = history.read(line, field=FIELD)
    assert kept.jobs == large.jobs[-len(kept.jobs) :] != ()
    assert list(kept.step_seconds)[-1] == list(large.step_seconds)[-1]


BAD = {
    "no JSON": "{",
    "other JSON": '{"jobs": []}',
    "another version": msgspec.json.encode({"version": 2, "history": {}}).decode(),
    "a step time of 0": history.text(replace(SOME, step_seconds={"a": 0.0})),
    "a step time of null": '{"version": 1, "history": {"step_seconds": {"a": null}}}',
}


@pytest.mark.parametrize("line", BAD.values(), ids=BAD)
def test_a_text_that_is_no_history_names_the_key(line: str) -> None:
    with pytest.raises(InputError, match="key history"):
        history.read(line, field=FIELD)


def test_merging_keeps_the_other_replicas_history_and_our_newer_values() -> None:
    stored = History((past(2), past(3)), {"a/job/x": 9.0, "b/job/z": 3.0})
    both = history.merged(stored, SOME)
    assert [job.uid for job in both.jobs] == ["uid-2", "uid-3", "uid-1"]
    assert both.step_seconds == {"b/job/z": 3.0, "a/job/x": 1.5, "a/job/y": 0.25}


def test_a_job_is_kept_once_and_the_oldest_is_dropped() -> None:
    jobs = tuple(PastJob(Uid(str(i)), past(0).request) for i in range(history.MOST_PAST + 1))
    kept = history.with_jobs(history.with_jobs(History(), jobs[:2]), jobs)
    assert kept.jobs == jobs[1:]
    assert history.with_jobs(kept, jobs[-1:]) is kept


def test_the_newest_step_time_of_a_name_counts() -> None:
    measured = {str(i): 1.0 for i in range(history.MOST_NAMES)}
    kept = history.with_steps(History(step_seconds=measured), {"0": 2.0, "new": 3.0})
    assert list(kept.step_seconds.items())[-2:] == [("0", 2.0), ("new", 3.0)]
    assert len(kept.step_seconds) == history.MOST_NAMES
    assert "1" not in kept.step_seconds
