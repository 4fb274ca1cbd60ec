"""One rank of several: it counts steps, and agrees with the others through a socket.

Arguments: the checkpoint directory, the number of steps, the port of the hub, and words:
``all-save``, ``fail-rank=N`` (that rank cannot save), ``every=N`` (agree every N steps),
``steps-apart`` (ranks count differently).
"""

from __future__ import annotations

import json
import socket
import sys
import time
from pathlib import Path

from shuntyard_trainer import Checkpoints, Environment

DIRECTORY, TOTAL, PORT, WORDS = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:]
RANK = Environment.read().rank
options = dict(word.split("=") for word in WORDS if "=" in word)
hub = socket.create_connection(("127.0.0.1", PORT)).makefile("rw")
log = (DIRECTORY / f"rank-{RANK}.log").open("a")


def agree(mine: int) -> int:
    hub.write(f"{mine}\n")
    hub.flush()
    return int(hub.readline())


def tell(what: str, step: int) -> None:
    log.write(json.dumps([what, step]) + "\n")
    log.flush()


def save(step: int) -> Path:
    tell("save", step)
    if options.get("fail-rank") == str(RANK):
        raise RuntimeError("no space on this node")
    folder = DIRECTORY / f"step-{step}"
    folder.mkdir(exist_ok=True)
    (folder / f"shard-{RANK}").write_text("x" * 10)
    return folder


checkpoints = Checkpoints.from_environment(
    save,
    directory=DIRECTORY,
    poll_seconds=0.005,
    agree=agree,
    agree_every_steps=int(options.get("every", "1")),
    every_rank_saves="all-save" in WORDS,
)
apart = 100 * RANK if "steps-apart" in WORDS else 0
try:
    for step in range(checkpoints.start_step(), TOTAL):
        time.sleep(0.002 * (1 + RANK))
        tell("step", step)
        checkpoints.step_done(step + 1 + apart)
    checkpoints.done(TOTAL)
    tell("done", TOTAL)
except SystemExit as end:
    tell("exit", int(str(end.code)))
    raise
