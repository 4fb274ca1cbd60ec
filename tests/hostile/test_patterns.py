"""A user's own pattern that takes for ever on a line: it is given up, and others are read on."""

import time
from pathlib import Path

import pytest

from tests.component.agent_shell import Node, agent, point, told
from tests.fakes.eventually import eventually
from tests.fakes.extender import Trust, fake_extender, place

LINES = 5000
ENDLESS = {
    "four greedy repetitions": r"(.*)(.*)(.*)(.*)(?P<value>[cd])",
    "many of a letter": r"a*?(a*)(a*)(a*)(a*)(a*)(a*)(?P<value>[cd])",
    "a look ahead at each place": r"(?=(.*)(.*)(.*)[cd])(?P<value>.)",
    "a reference back": r"(a*)(a*)\1\2\1(?P<value>[cd])",
}


@pytest.mark.parametrize("pattern", ENDLESS.values(), ids=ENDLESS)
async def test_a_pattern_without_end_is_given_up_and_other_logs_are_read(
    tmp_path: Path, pattern: str
) -> None:
    node = Node(tmp_path, Trust.create(tmp_path))
    await node.write("team/bad/out.txt", *["a" * 1000] * LINES)
    await node.write("team/train/metrics/train.jsonl", point(1, 2.0))
    bad = place("bad", metrics=f"path=out.txt; metric=loss; regex={pattern}")
    begun = time.thread_time()
    async with fake_extender(node.trust, bad, place("train")) as replica, agent(node, replica):
        await eventually(told(replica, "uid-bad", lambda r: "is not fast enough" in r.problem))
        await eventually(told(replica, "uid-train", lambda r: r.progress and r.progress.step == 1))
        await node.write("team/train/metrics/train.jsonl", point(2, 1.5))
        await node.write("team/bad/out.txt", *["a" * 1000] * LINES)
        await eventually(told(replica, "uid-train", lambda r: r.progress and r.progress.step == 2))
    problem = replica.reports()["uid-bad"].problem
    assert problem.startswith("annotation shuntyard.io/metrics, regex: ")
    assert "anchor it with ^" in problem
    assert time.thread_time() - begun < 30
