import pytest

from devcluster.process_node import status
from devcluster.process_node.status import (
    ContainerRecord,
    PodRecord,
    Running,
    State,
    Terminated,
    Waiting,
)

WAITS, RUNS = Waiting("ContainerCreating"), Running(10.0)
GOOD, BAD = Terminated(0, "Completed", 20.0, 10.0), Terminated(1, "Error", 20.0, 10.0)
BACK_OFF = Waiting("CrashLoopBackOff")


def one(name: str, state: State, *, last: Terminated | None = None) -> ContainerRecord:
    return ContainerRecord(name, "image", state=state, last=last)


def record(
    policy: str, *states: State, init: tuple[State, ...] = (), ended: bool = False
) -> PodRecord:
    lasts = [BAD if state is BACK_OFF else None for state in states]
    return PodRecord(
        restart_policy=policy,
        containers=[one(f"c{i}", s, last=lasts[i]) for i, s in enumerate(states)],
        init_containers=[one(f"i{i}", state) for i, state in enumerate(init)],
        host_ip="127.20.0.1",
        pod_ip="127.20.0.2",
        started_at=5.0,
        ended=ended,
    )


PHASES: dict[str, tuple[PodRecord, str]] = {
    "nothing started": (record("Never", WAITS), "Pending"),
    "one still starts": (record("Never", RUNS, WAITS), "Pending"),
    "all run": (record("Never", RUNS, RUNS), "Running"),
    "one has ended well": (record("Never", GOOD, RUNS), "Running"),
    "one has failed": (record("Never", BAD, RUNS), "Running"),
    "all ended well": (record("Never", GOOD, GOOD), "Succeeded"),
    "all ended, one badly": (record("Never", GOOD, BAD), "Failed"),
    "a restart is due": (record("OnFailure", BAD), "Running"),
    "a restart waits": (record("OnFailure", BACK_OFF), "Running"),
    "OnFailure and all well": (record("OnFailure", GOOD), "Succeeded"),
    "Always never succeeds by itself": (record("Always", GOOD), "Running"),
    "deleted and all well": (record("Always", GOOD, ended=True), "Succeeded"),
    "deleted while restarting": (record("Always", BAD, ended=True), "Failed"),
    "deleted before it started": (record("Never", WAITS, ended=True), "Failed"),
    "an init container runs": (record("Never", WAITS, init=(GOOD, RUNS)), "Pending"),
    "an init container will be run again": (record("Always", WAITS, init=(BAD,)), "Pending"),
    "an init container failed for good": (
        record("Never", WAITS, init=(BAD,), ended=True),
        "Failed",
    ),
}


@pytest.mark.parametrize(("what", "want"), PHASES.values(), ids=PHASES)
def test_the_phase_follows_from_the_containers(what: PodRecord, want: str) -> None:
    assert status.phase(what) == want


def test_a_verdict_fails_the_pod_whatever_runs() -> None:
    judged = record("Always", RUNS)
    judged.verdict = ("DeadlineExceeded", "too long")
    rendered = status.render(judged, [], 30.0)
    assert (rendered["phase"], rendered["reason"]) == ("Failed", "DeadlineExceeded")


ENDS: dict[str, tuple[int, int, int, str]] = {
    "success": (0, 0, 0, "Completed"),
    "an exit code": (3, 3, 0, "Error"),
    "SIGTERM": (-15, 143, 15, "Error"),
    "SIGKILL": (-9, 137, 9, "Error"),
}


@pytest.mark.parametrize(("code", "want_code", "want_signal", "reason"), ENDS.values(), ids=ENDS)
def test_the_exit_code_names_the_signal(
    code: int, want_code: int, want_signal: int, reason: str
) -> None:
    ended = status.terminated(code, 1.0, 2.0)
    assert (ended.exit_code, ended.signal, ended.reason) == (want_code, want_signal, reason)


def conditions(what: PodRecord) -> dict[str, str]:
    return {c["type"]: c["status"] for c in status.render(what, [], 30.0)["conditions"]}


def test_conditions_say_what_is_ready() -> None:
    assert conditions(record("Never", RUNS))["Ready"] == "True"
    assert conditions(record("Never", RUNS, BACK_OFF))["Ready"] == "False"
    assert conditions(record("Never", WAITS, init=(RUNS,)))["Initialized"] == "False"
    assert conditions(record("Never", GOOD))["ContainersReady"] == "False"


def test_a_condition_keeps_its_time_while_it_stays_the_same() -> None:
    first = status.render(record("Never", RUNS), [], 100.0)["conditions"]
    later = status.render(record("Never", RUNS), first, 200.0)["conditions"]
    assert later == first
    ended = status.render(record("Never", GOOD), later, 300.0)["conditions"]
    times = {one["type"]: one["lastTransitionTime"] for one in ended}
    assert times["Ready"] == "1970-01-01T00:05:00Z"
    assert times["Initialized"] == "1970-01-01T00:01:40Z"


def test_the_node_names_no_condition_of_others() -> None:
    names = {one["type"] for one in status.render(record("Never", RUNS), [], 1.0)["conditions"]}
    assert names == {"PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady"}


def test_a_container_that_ran_before_this_program_is_lost() -> None:
    found = one("main", WAITS)
    reported = {
        "restartCount": 2,
        "containerID": "process://7",
        "state": {"running": {"startedAt": "1970-01-01T00:00:10Z"}},
    }
    status.resume(found, reported, 50.0)
    assert isinstance(found.state, Terminated)
    assert (found.restarts, found.state.exit_code) == (2, 137)
    assert (found.state.reason, found.state.started_at) == ("ContainerStatusUnknown", 10.0)


def test_a_container_that_had_ended_stays_as_it_was_reported() -> None:
    found = one("main", WAITS)
    rendered = status.render(record("Never", BAD), [], 1.0)["containerStatuses"][0]
    status.resume(found, rendered, 50.0)
    assert found.state == BAD


BACKOFFS = {
    "first": (1, 1.0),
    "second": (2, 2.0),
    "fifth": (5, 16.0),
    "at most a minute": (99, 60.0),
}


@pytest.mark.parametrize(("restarts", "want"), BACKOFFS.values(), ids=BACKOFFS)
def test_restarts_wait_twice_as_long_each_time(restarts: int, want: float) -> None:
    assert status.backoff_seconds(restarts) == want
