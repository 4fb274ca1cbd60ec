"""Several processes of one job: rank 0 reads requests, all do the same at the same step."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path
from typing import Callable

import pytest

from shuntyard_trainer import Checkpoints, RanksError, SettingError
from shuntyard_trainer.boundary import Decision
from shuntyard_trainer.ranks import Ranks
from tests.unit.trainer.agent import Agent
from tests.unit.trainer.hand_clock import HandClock
from tests.unit.trainer.hub import Hub
from tests.unit.trainer.processes import ROOT, finish, start, wait_for

WORLD = 3
MANY = 100_000
PROGRAM = ROOT / "tests/unit/trainer/programs/ranks.py"
Act = Callable[[Agent, "list[subprocess.Popen[str]]"], None]


def _run(directory: Path, act: Act, *words: str, total: int = MANY) -> list[int]:
    """Start all ranks, let ``act`` happen when they train, and return their exit codes."""
    with Hub(WORLD) as hub:
        processes = [
            start(PROGRAM, directory, total, hub.port, *words, RANK=str(r), WORLD_SIZE=str(WORLD))
            for r in range(WORLD)
        ]
        wait_for(lambda: any(what == "step" for what, _ in _log(directory, WORLD - 1)))
        act(Agent(directory), processes)
        return [finish(process)[0] for process in processes]


def _log(directory: Path, rank: int) -> list[tuple[str, int]]:
    path = directory / f"rank-{rank}.log"
    lines = path.read_text().splitlines() if path.exists() else []
    return [tuple(json.loads(line)) for line in lines]


def _last(directory: Path, what: str) -> list[int]:
    """Return the last step at which each rank did it."""
    logs = [_log(directory, rank) for rank in range(WORLD)]
    return [max((step for did, step in log if did == what), default=-1) for log in logs]


def _ask(agent: Agent, hold_seconds: float = 600.0) -> None:
    agent.ask_now(hold_seconds=hold_seconds)
    wait_for(lambda: agent.read("ack-r1.json"))


def _ask_and_end(agent: Agent, processes: list[subprocess.Popen[str]]) -> None:
    _ask(agent)
    _terminate_together(processes)


def _terminate_together(processes: list[subprocess.Popen[str]]) -> None:
    """Send SIGTERM to all ranks while none runs.

    Otherwise a rank may learn of the end from another, leave, and get its own SIGTERM when its
    interpreter has already restored the default handler.
    """
    for number in (signal.SIGSTOP, signal.SIGTERM, signal.SIGCONT):
        for process in processes:
            process.send_signal(number)


@pytest.mark.parametrize("every", [1, 7])
def test_all_ranks_hold_at_one_step(tmp_path: Path, every: int) -> None:
    codes = _run(tmp_path, _ask_and_end, "all-save", f"every={every}")
    answer = Agent(tmp_path).read("ack-r1.json")
    assert answer is not None
    assert codes == [143] * WORLD
    assert _last(tmp_path, "step") == [answer["step"] - 1] * WORLD
    assert _last(tmp_path, "save") == [answer["step"]] * WORLD


def test_the_answer_means_that_all_ranks_have_saved(tmp_path: Path) -> None:
    _run(tmp_path, _ask_and_end, "all-save")
    answer = Agent(tmp_path).read("ack-r1.json")
    assert answer is not None
    assert answer["bytes"] == 10 * WORLD


def test_only_rank_0_saves_by_default(tmp_path: Path) -> None:
    _run(tmp_path, _ask_and_end)
    assert [step > 0 for step in _last(tmp_path, "save")] == [True, False, False]


def test_only_rank_0_writes_the_files(tmp_path: Path) -> None:
    _run(tmp_path, _ask_and_end)
    trainer = Agent(tmp_path).read("trainer.json")
    assert trainer is not None
    assert (trainer["rank"], trainer["world_size"]) == (0, WORLD)


def test_sigterm_at_one_rank_ends_all_of_them_at_one_step(tmp_path: Path) -> None:
    codes = _run(tmp_path, lambda _agent, ranks: ranks[2].send_signal(signal.SIGTERM))
    assert codes == [143] * WORLD
    saved = Agent(tmp_path).read("saved.json")
    assert saved is not None
    assert _last(tmp_path, "step") == [saved["step"] - 1] * WORLD


def test_sigterm_at_one_rank_ends_the_hold_of_all(tmp_path: Path) -> None:
    def act(agent: Agent, processes: list[subprocess.Popen[str]]) -> None:
        _ask(agent)
        processes[1].send_signal(signal.SIGTERM)

    assert _run(tmp_path, act) == [143] * WORLD


def test_all_ranks_are_released_together_and_finish(tmp_path: Path) -> None:
    codes = _run(tmp_path, lambda agent, _: _ask(agent, hold_seconds=0.2), total=150)
    assert codes == [0] * WORLD
    assert _last(tmp_path, "done") == [150] * WORLD
    logs = [[step for did, step in _log(tmp_path, r) if did == "step"] for r in range(WORLD)]
    assert logs == [list(range(150))] * WORLD


def test_a_rank_that_cannot_save_makes_the_answer_a_failure(tmp_path: Path) -> None:
    def act(agent: Agent, processes: list[subprocess.Popen[str]]) -> None:
        _ask(agent)
        at = _last(tmp_path, "step")[0]
        wait_for(lambda: min(_last(tmp_path, "step")) > at)
        _terminate_together(processes)

    assert _run(tmp_path, act, "all-save", "fail-rank=1") == [143] * WORLD
    answer = Agent(tmp_path).read("ack-r1.json")
    assert answer is not None
    assert (answer["ok"], answer["error"]) == (False, "another rank could not save")
    assert Agent(tmp_path).read("saved.json") is None


def test_ranks_that_count_differently_save_nothing(tmp_path: Path) -> None:
    _run(tmp_path, _ask_and_end, "all-save", "steps-apart")
    answer = Agent(tmp_path).read("ack-r1.json")
    assert answer is not None
    assert answer["ok"] is False
    assert "RanksError" in answer["error"]
    assert _last(tmp_path, "save") == [-1] * WORLD


def test_a_job_that_is_moved_resumes_on_all_ranks_at_the_step(tmp_path: Path) -> None:
    _run(tmp_path, _ask_and_end, "all-save")
    answer = Agent(tmp_path).read("ack-r1.json")
    assert answer is not None
    (Agent(tmp_path).folder / "request.json").unlink()
    total = answer["step"] + 20
    assert _run(tmp_path, lambda _agent, _ranks: None, "all-save", total=total) == [0] * WORLD
    logs = [[step for did, step in _log(tmp_path, r) if did == "step"] for r in range(WORLD)]
    assert logs == [list(range(total))] * WORLD


def test_several_ranks_need_an_agreement_function(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="give agree="):
        Checkpoints(tmp_path, world_size=2, handle_sigterm=False)


@pytest.mark.parametrize(("rank", "decision"), [(0, Decision.SAVE), (1, Decision.GO_ON)])
def test_rank_0_alone_decides_when_to_save_by_itself(
    tmp_path: Path, rank: int, decision: Decision
) -> None:
    asked: list[int] = []

    def agree(mine: int) -> int:
        asked.append(mine)
        return mine

    clock = HandClock()
    checkpoints = Checkpoints(
        tmp_path,
        lambda _step: None,
        rank=rank,
        world_size=2,
        agree=agree,
        save_every_seconds=5.0,
        handle_sigterm=False,
        clock=clock,
    )
    checkpoints.begin(0)
    clock.advance(6.0)
    asked.clear()
    checkpoints.due(1)
    assert asked == [decision]


def test_a_rank_is_done_when_all_are(tmp_path: Path) -> None:
    agent, begun = Agent(tmp_path), []

    def agree(mine: int) -> int:
        begun.append(agent.read("done.json"))
        return mine

    checkpoints = Checkpoints(tmp_path, rank=0, world_size=2, agree=agree, handle_sigterm=False)
    checkpoints.done(5)
    assert begun == [None]
    assert agent.read("done.json")


def test_ranks_at_two_steps_raise_an_error() -> None:
    ranks = Ranks(0, 2, lambda mine: max(mine, 8 if mine > 0 else -3))
    with pytest.raises(RanksError, match="this rank is at step 5, the ranks are at 3 to 8"):
        ranks.require_same_step(5)
