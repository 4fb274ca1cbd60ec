"""The decisions in the extender's log replay without a difference."""

import asyncio
import json
import re

import pytest

from extender.app import replay
from extender.core.parameters.combined import CoreParameters
from extender.settings.extender import ExtenderSettings
from extender.settings.policy import core_parameters
from shared import labels
from shared.kube import paths
from tests.component.shell import QUICK, MiniScheduler, bound, extender, lease, node, pod
from tests.fakes.eventually import eventually
from tests.fakes.kube import FakeKube


@pytest.fixture
async def log(tmp_path):
    """The log of a run with two gangs, one of which had to wait, and several segments."""
    section = {"directory": tmp_path, "segment_bytes": 2**16}
    async with FakeKube.running() as fake, lease(fake):
        fake.put(paths.NODES, node("a"))
        for job in ("one", "two"):
            for i in range(3):
                fake.put(paths.PODS, pod(f"{job}-{i}", job=job, size=3))
        async with (
            extender(fake, decision_log=section) as running,
            MiniScheduler(fake, running.scheduler_url).running(),
        ):
            await eventually(lambda: len(bound(fake)) == 3)
            fake.put(paths.NODES, node("b"))
            await eventually(lambda: len(bound(fake)) == 6)
            for i in range(200):
                fake.put(paths.NODES, node(f"n-{i}"))
            await eventually(lambda: _segments(tmp_path))
    return tmp_path


async def _segments(directory):
    return await asyncio.to_thread(lambda: len(list(directory.glob("decisions-*"))) > 1)


def parameters() -> CoreParameters:
    settings = ExtenderSettings.model_validate(QUICK)
    return core_parameters(settings, labels.SCHEDULER_NAME)


async def test_every_decision_replays(log, capsys):
    code = await asyncio.to_thread(replay.run, log, parameters())
    output = capsys.readouterr().out
    assert code == 0, output
    assert output.endswith(" 0 differ\n")


async def test_a_decision_that_differs_is_named(log, capsys):
    def falsify() -> None:
        file = min(log.glob("decisions-*"))
        lines = file.read_text().splitlines(keepends=True)
        at = next(i for i, line in enumerate(lines) if '"kind":"filter"' in line)
        record = json.loads(lines[at])
        record["output"]["passed"] = ["elsewhere"]
        lines[at] = json.dumps(record) + "\n"
        file.write_text("".join(lines))

    await asyncio.to_thread(falsify)
    assert await asyncio.to_thread(replay.run, log, parameters()) == 1
    output = capsys.readouterr().out
    assert re.search(
        r"^decisions-\S+, line \d+: filter of \S+ on generation \d+$", output, re.MULTILINE
    )
    assert '\n  differs at $.passed[0]\n  recorded: "elsewhere"\n  replayed: ' in output
    assert output.endswith("the last one differs\n")


async def test_other_parameters_are_refused(log, capsys):
    assert await asyncio.to_thread(replay.run, log, CoreParameters(pin_lost_seconds=99)) == 1
    assert "written with other parameters" in capsys.readouterr().err
