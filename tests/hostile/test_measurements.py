"""Hostile names and values of a trainer's metrics change only its own job, and make no series."""

import asyncio
import json
import urllib.request
from pathlib import Path

import msgspec
import pytest

from tests.component.agent_shell import Node, Running, agent, point, reported
from tests.fakes.eventually import eventually
from tests.fakes.extender import FakeExtender, Trust, fake_extender, place

BOMBS = 20_000
FORGED = 'bomb"} 1\nshuntyard_forged{bomb="'
LINES: dict[str, list[str]] = {
    "names without number": [
        json.dumps({"step": i, **{f"bomb-{i}-{k}": 1.0 for k in range(100)}})
        for i in range(BOMBS // 100)
    ],
    "a line of very many names": [json.dumps({f"bomb-{i}": 1.0 for i in range(BOMBS)})],
    "a name that ends its series": [json.dumps({"step": 1, FORGED: 1.0})] * 10,
    "a name of a million letters": ['{"step": 1, "' + "bomb" * 250_000 + '": 1}'],
    "a value that is a series": [json.dumps({"step": 1, "loss": FORGED, "accuracy": [FORGED]})],
    "Prometheus' own words": ['loss{bomb="1"} 1', "# TYPE bomb counter", "bomb_total 1e999"],
    "a value of a million digits": ['{"step": 1, "bomb": ' + "9" * 1_000_000 + "}"],
    "a hundred thousand levels": ['{"bomb":' * 100_000 + "1" + "}" * 100_000],
}


async def series(running: Running) -> set[str]:
    def ask() -> str:
        with urllib.request.urlopen(f"{running.url}/metrics", timeout=20) as answer:
            return str(answer.read(), "utf-8")

    lines = (await asyncio.to_thread(ask)).splitlines()
    return {line.rpartition(" ")[0] for line in lines if not line.startswith("#")}


async def until_at(replica: FakeExtender, uid: str, step: int) -> None:
    """Wait until the replica has a report of the training's step."""
    await eventually(reported(replica, uid, lambda r: r.progress and r.progress.step == step))


async def test_unknown_metric_names_make_no_series_and_are_reported(tmp_path: Path) -> None:
    await harms_no_other_job(tmp_path, [line for lines in LINES.values() for line in lines])


@pytest.mark.e2e  # the gate runs all of them at once
@pytest.mark.parametrize("lines", LINES.values(), ids=LINES)
async def test_an_unknown_metric_name_alone_makes_no_series(
    tmp_path: Path, lines: list[str]
) -> None:
    await harms_no_other_job(tmp_path, lines)


async def harms_no_other_job(directory: Path, lines: list[str]) -> None:
    node = Node(directory, Trust.create(directory))
    await node.write("team/bad/metrics/bad.jsonl", point(1, 2.0))
    await node.write("team/train/metrics/train.jsonl", point(1, 2.0))
    places = (place("bad"), place("train"))
    async with fake_extender(node.trust, *places) as replica, agent(node, replica) as running:
        for uid in ("uid-bad", "uid-train"):
            await until_at(replica, uid, 1)
        before = await series(running)
        await node.write("team/bad/metrics/bad.jsonl", *lines, point(BOMBS, 1.0))
        await until_at(replica, "uid-bad", BOMBS)
        await node.write("team/train/metrics/train.jsonl", point(2, 1.5))
        await until_at(replica, "uid-train", 2)
        after = await series(running)
        assert [one for one in after if "bomb" in one or "forged" in one] == []
        assert len(after) < len(before) + 20  # some appear only now
        assert len(msgspec.json.encode(replica.reports())) < 20_000
