"""The history of admission as text: what comes back, what does not fit, what is refused."""

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
    asked = JobRequest(
        utility="sigmoid:1,0,1h", training=training, worker=make_shape(cpu="1"), most=4
    )
    return PastJob(Uid(f"uid-{number}"), asked)


SOME = History((past(1), past(2)), {"a/job/x": 1.5, "a/job/y": 0.25})


def test_what_was_kept_comes_back() -> None:
    line = history.text(SOME)
    assert "\n" not in line
    assert history.read(line, field=FIELD) == SOME
    assert history.read("", field=FIELD) == History()


def test_of_too_much_the_newest_are_kept() -> None:
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
    "a step time of nothing": history.text(replace(SOME, step_seconds={"a": 0.0})),
    "a step time of null": '{"version": 1, "history": {"step_seconds": {"a": null}}}',
}


@pytest.mark.parametrize("line", BAD.values(), ids=BAD)
def test_what_somebody_else_wrote_names_the_key(line: str) -> None:
    with pytest.raises(InputError, match="key history"):
        history.read(line, field=FIELD)


def test_what_another_replica_knows_is_not_lost_and_ours_is_newer() -> None:
    theirs = History((past(2), past(3)), {"a/job/x": 9.0, "b/job/z": 3.0})
    both = history.merged(theirs, SOME)
    assert [job.uid for job in both.jobs] == ["uid-2", "uid-3", "uid-1"]
    assert both.step_seconds == {"b/job/z": 3.0, "a/job/x": 1.5, "a/job/y": 0.25}
