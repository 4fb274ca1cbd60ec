"""The programs of the page on checkpoints; each is asked, ended and started again."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

from tests.docs import blocks
from tests.unit.trainer import processes
from tests.unit.trainer.agent import POD, Agent

PAGE = Path(__file__).resolve().parents[2] / "docs/checkpoint-helper.md"
PROGRAMS = {block.file: block for block in blocks.of_page(PAGE) if block.file}
STEPS = dict.fromkeys(PROGRAMS, 300) | {"train.sh": 50}


def start(directory: Path, name: str, pod: str, **variables: str) -> subprocess.Popen[str]:
    """Write the program as it stands on the page and start it as that pod."""
    program = directory / name
    program.write_text(PROGRAMS[name].text)
    return processes.start(
        program,
        python="bash" if name.endswith(".sh") else sys.executable,
        SHUNTYARD_CHECKPOINT_DIR=str(directory / "checkpoints"),
        SHUNTYARD_METRICS_FILE=str(directory / "metrics.jsonl"),
        SHUNTYARD_POD_UID=pod,
        OMP_NUM_THREADS="1",
        **variables,
    )


def moves(directory: Path, name: str, within_seconds: float, **variables: str) -> None:
    """Ask it, end it in the hold, and let another pod go on from there to the end."""
    agent = Agent(directory / "checkpoints")
    agent.ask_now("r1")
    life = start(directory, name, POD, **variables)
    processes.wait_for(lambda: agent.read("ack-r1.json") or life.poll() is not None, within_seconds)
    answer = agent.read("ack-r1.json")
    assert answer, processes.finish(life)[1]
    assert (answer["ok"], answer["pod_uid"], answer["version"]) == (True, POD, 1)
    assert (directory / "checkpoints" / answer["path"]).exists()
    life.send_signal(signal.SIGTERM)
    assert processes.finish(life, within_seconds)[0] == 143
    code, output = processes.finish(start(directory, name, "another", **variables), within_seconds)
    assert code == 0, output
    trainer, end = agent.read("trainer.json"), agent.read("done.json")
    assert trainer is not None
    assert end is not None
    assert (trainer["resumed_step"], trainer["pod_uid"]) == (answer["step"], "another")
    assert end["step"] == STEPS[name] > answer["step"]
