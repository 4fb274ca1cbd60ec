"""``logs-check`` says what the agent reports of the same file."""

import shutil
from math import inf
from pathlib import Path

import pytest

from agent import budgets
from shared.parsing.checking import Finding, check
from shared.places import MetricsPlace
from shared.progress import PodReport, Span
from tests.fakes.extender import place
from tests.unit.agent.tracking.test_tracker import A, Yard
from tests.unit.parsing.reading import LOGS
from tests.unit.parsing.test_corpus import CORPUS, READINGS


@pytest.fixture(autouse=True)
def unlimited(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read whole files, however busy this process is with other tests' garbage."""
    monkeypatch.setattr(budgets, "POD_SLICE_SECONDS", inf)


def reported(root: Path, name: str) -> PodReport:
    """The agent's report of a pod that has a file of the corpus."""
    folder = root / "team" / "a"
    folder.mkdir(parents=True)
    shutil.copy(CORPUS / name, folder)
    pod = place("a", metrics=f"path={name}")
    return Yard(root).turn(pod).reports[A]


def test_files_of_trackers_are_read_by_patterns_of_three_parts(tmp_path: Path) -> None:
    folder = tmp_path / "team" / "a"
    shutil.copytree(LOGS / "mlruns", folder / "mlruns")
    (folder / "wandb" / "offline-run-1").mkdir(parents=True)
    shutil.copy(LOGS / "run-offline.wandb", folder / "wandb" / "offline-run-1" / "run-1.wandb")
    steps = {}
    for path in ("mlruns/0/*/metrics/*", "wandb/*run-*/*.wandb"):
        progress = Yard(tmp_path).turn(place("a", metrics=f"path={path}")).reports[A].progress
        assert progress is not None
        steps[progress.source, progress.metric] = progress.step
    assert steps == {("mlflow", "acc"): 9, ("wandb", "val_loss"): 40}


def test_the_programs_own_time_left_is_reported_where_the_total_is_missing(
    tmp_path: Path,
) -> None:
    progress = reported(tmp_path, "darknet.log").progress
    assert progress is not None
    assert progress.total_steps is None
    assert progress.remaining_seconds == Span(45036.0, 33777.0, 56295.0)


def found(name: str) -> Finding:
    data = (CORPUS / name).read_bytes()
    return check(lambda offset, length: data[offset : offset + length], name, MetricsPlace())


@pytest.mark.parametrize("name", READINGS)
def test_agent_and_command_line_read_the_same(name: str, tmp_path: Path) -> None:
    progress, finding = reported(tmp_path, name).progress, found(name)
    if progress is None:
        assert finding.metric is None
        return
    step = None if finding.step is None else int(finding.step)
    assert (finding.metric, finding.format, finding.points, finding.goal, finding.attempts) == (
        progress.metric,
        progress.source,
        progress.points,
        progress.goal,
        progress.attempt,
    )
    assert finding.value == progress.value
    assert finding.total_steps == progress.total_steps
    assert step is None or progress.step is None or step <= progress.step
