"""The ledger: what is news, what is history, what is forgotten."""

from extender.core.elastic.measured_speeds import Samples, SpeedMemory
from extender.core.elastic.state import MOST_ENDED, ElasticState, Ended, Ending, measured
from extender.core.records.rescale import Cause, Phase
from tests.unit.core.elastic.changing_cluster import (
    NOW,
    crew,
    looked,
    owner_of,
    rescale,
    workers,
    yard,
)

OPEN = rescale(Phase.SHRINKING)
CLOSED = rescale(Phase.DONE)


def endings(look):
    return [(one.rescale.id, one.outcome, one.rescale.why) for one in look.ended]


def known(snapshot):
    return looked(snapshot, due=False).state


def test_an_ended_change_is_reported_once() -> None:
    memory = known(crew(rescale=OPEN))
    after = looked(crew(3, rescale=CLOSED), memory=memory, due=False)
    assert endings(after) == [("r", Ending.DONE, "")]
    again = looked(crew(3, rescale=CLOSED), memory=after.state, due=False)
    assert again.ended == ()
    assert again.state.ended == after.state.ended == (Ended(CLOSED, Ending.DONE),)


def test_an_abort_says_why() -> None:
    aborted = rescale(Phase.ABORTED, why="CheckpointFailed")
    after = looked(crew(rescale=aborted), memory=known(crew(rescale=OPEN)), due=False)
    assert endings(after) == [("r", Ending.ABORTED, "CheckpointFailed")]


def test_what_is_under_way_stays_so() -> None:
    memory = known(crew(rescale=rescale()))
    after = looked(crew(3, rescale=OPEN, pods=4), memory=memory, due=False)
    assert after.ended == ()
    assert list(after.state.open.values()) == [OPEN]


def test_withdrawn_growth_is_reported_as_such() -> None:
    growing = rescale(Phase.GROWING, 2, 5)
    back = rescale(Phase.SHRINKING, 5, 3, cause=Cause.WITHDRAWN, id="s", at=NOW)
    after = looked(crew(3, rescale=back, pods=5), memory=known(crew(5, rescale=growing, bound=3)))
    assert endings(after) == [("r", Ending.WITHDRAWN, "")]
    assert after.ended[0].rescale.since == NOW


def test_a_change_with_an_unseen_end_counts_as_done() -> None:
    another = rescale(Phase.ASKED, id="s")
    after = looked(crew(rescale=another), memory=known(crew(rescale=OPEN)), due=False)
    assert endings(after) == [("r", Ending.DONE, "")]


def test_an_owner_that_goes_takes_its_change_along() -> None:
    after = looked(yard(), memory=known(crew(rescale=OPEN)))
    assert endings(after) == [("r", Ending.ABORTED, "OwnerGone")]


def test_what_ended_before_this_life_is_history_and_no_news() -> None:
    names = ("j", "k")
    owners = [
        owner_of(3, n, rescale=rescale(Phase.DONE, name=n, id=n, since=NOW - i))
        for i, n in enumerate(names)
    ]
    look = looked(yard(*owners, workers(owners[0])), due=False)
    assert look.ended == ()
    assert [one.rescale.id for one in look.state.ended] == ["k", "j"]
    assert looked(yard(*owners), memory=look.state).state.ended == look.state.ended


def test_the_ledger_is_bounded() -> None:
    full = tuple(Ended(rescale(Phase.DONE, id=str(i)), Ending.DONE) for i in range(MOST_ENDED))
    memory = ElasticState(primed=True, open=known(crew(rescale=OPEN)).open, ended=full)
    after = looked(crew(3, rescale=CLOSED), memory=memory, due=False).state
    assert len(after.ended) == MOST_ENDED
    assert (after.ended[0].rescale.id, after.ended[-1].rescale.id) == ("1", "r")


def _speeds(**seconds: float) -> SpeedMemory:
    """What is known of runs called ``j``, by number of workers."""
    samples = Samples()
    for number, one in seconds.items():
        for _ in range(2):
            samples = samples.with_interval(int(number[1:]), 0, one)
    return SpeedMemory(samples={"default/job/j": samples})


def test_the_ledger_learns_what_a_change_did_to_the_speed_and_keeps_it() -> None:
    memory = ElasticState(ended=(Ended(CLOSED, Ending.DONE),), speeds=_speeds(w4=0.5))
    (one,) = measured(memory).ended
    assert (one.step_seconds_before, one.step_seconds_after) == (0.5, None)
    later = measured(ElasticState(ended=(one,), speeds=_speeds(w4=9.0, w3=0.75))).ended[0]
    assert (later.step_seconds_before, later.step_seconds_after) == (0.5, 0.75)


def test_an_unmeasured_job_has_no_report() -> None:
    memory = ElasticState(ended=(Ended(CLOSED, Ending.DONE),))
    assert measured(memory) is memory
