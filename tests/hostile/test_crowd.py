"""A hundred pods that attack the agent of their node: it stays small, and reads the others."""

import itertools
import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from agent.budgets import POD_SLICE_SECONDS
from agent.tracking.tracker import TURN_CPU_SECONDS
from shared import wire
from shared.wire import NodePods, PodPlace
from tests.fakes.extender import place
from tests.hostile.attacks import ATTACKS, MIB
from tests.hostile.programs.crowded_node import STEPS

LIMIT_BYTES = 128 * MIB
"""Memory limit of the agent's container (deploy/base/agent.yaml)."""
MARGIN_BYTES = 16 * MIB
PODS = 100
LEAST_ROUNDS = 25
ROOT = Path(__file__).parents[2]
Attack = Callable[[Path], str]


def crowd(directory: Path, attacks: Sequence[Attack], pods: int) -> dict[str, Any]:
    """Lay out so many hostile pods and one that trains, the last of them; run an agent."""
    places = []
    for number, attack in enumerate(attacks):
        pattern = directory / "patterns" / attack.__name__
        pattern.mkdir(parents=True)
        metrics = attack(pattern)
        places += [
            hostile(directory, pattern, i, metrics) for i in range(number, pods, len(attacks))
        ]
    file = directory / "volume/team/train/metrics/train.jsonl"
    file.parent.mkdir(parents=True)
    file.write_text('{"step": 1, "loss": 1.0}\n')
    pods_of_node = NodePods(node="n1", pods=(*places, place("train")))
    (directory / "places.json").write_bytes(wire.encode(pods_of_node))
    (directory / "pods").mkdir(exist_ok=True)
    program = "tests.hostile.programs.crowded_node"
    rounds = (str(LEAST_ROUNDS), str(2 * most_rounds(pods)))
    command = [sys.executable, "-m", program, directory, *rounds]
    ran = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    found: dict[str, Any] = json.loads(ran.stdout)
    return found


def hostile(directory: Path, pattern: Path, number: int, metrics: str) -> PodPlace:
    """Give a pod the files of an attack."""
    name = f"bad-{number}"
    job, log = directory / f"volume/team/{name}", directory / f"pods/team_{name}_uid-{name}/main"
    for folder in (job, log):
        folder.mkdir(parents=True)
    for file in pattern.rglob("*"):
        target = (log if file.suffix == ".log" else job) / file.relative_to(pattern)
        if file.is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            os.link(file, target)
    return place(name, metrics=metrics)


def most_rounds(pods: int) -> int:
    """Return how many rounds it may take at most until each pod was read once."""
    return int(pods * POD_SLICE_SECONDS / TURN_CPU_SECONDS) + 2


def is_well(found: dict[str, Any], pods: int) -> None:
    assert found["highest"] < LIMIT_BYTES - MARGIN_BYTES
    assert max(found["steps"]) >= STEPS
    waits = [len(list(rounds)) for _, rounds in itertools.groupby(found["steps"])]
    assert max(waits) <= most_rounds(pods)
    assert waits[-5:-1] == [1] * 4  # the one that trains is ordinary, and is read in each round
    raw, packed = found["heartbeat"]
    assert raw < 4 * MIB
    assert packed < MIB
    assert not found["problems"]["uid-train"]


def test_a_hundred_hostile_pods_neither_fill_the_agent_nor_delay_the_pod_that_trains(
    tmp_path: Path,
) -> None:
    """(defect A4)"""
    found = crowd(tmp_path, ATTACKS, PODS)
    is_well(found, PODS)
    problems = " ".join(found["problems"].values())
    assert "no longer read" in problems
    assert "log too fast" in problems
    assert "a text of at most 2048 characters" in problems


@pytest.mark.e2e  # the gate runs all of them at once
@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.__name__)
def test_a_hundred_hostile_pods_of_one_kind_do_no_harm(tmp_path: Path, attack: Attack) -> None:
    """(defect A4)"""
    is_well(crowd(tmp_path, [attack], PODS), PODS)


@pytest.mark.e2e  # the most pods a node has
def test_two_hundred_and_fifty_hostile_pods_do_no_harm(tmp_path: Path) -> None:
    """(defect A4)"""
    is_well(crowd(tmp_path, ATTACKS, 250), 250)
