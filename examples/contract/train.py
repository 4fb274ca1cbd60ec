"""A trainer that keeps the checkpoint contract by itself, without our library.

Python's standard library only; one process. The rules: docs/checkpoint-contract-spec.md.
"""

import json
import os
import re
import signal
import sys
import time
from pathlib import Path

STEPS = int(os.environ.get("STEPS", "2000"))
STEP_SECONDS = 0.02
DIRECTORY = Path(os.environ.get("SHUNTYARD_CHECKPOINT_DIR", "checkpoints"))
METRICS = Path(os.environ.get("SHUNTYARD_METRICS_FILE", os.devnull))
UID = os.environ.get("SHUNTYARD_POD_UID", "")
GENERATION = os.environ.get("SHUNTYARD_GENERATION", "")
START = re.compile("start-([0-9]{1,18})-([0-9]{1,18})[.]json")
FOLDER = DIRECTORY / ".shuntyard"
ALONE = {"rank": 0, "world_size": 1, "exits_zero_on_term": False, "pod_uid": UID}
terminating: list[int] = []
mine = [0, 0]  # generation and number of this start


def latest() -> list[int]:
    """Return generation and number of the latest start in the directory."""
    found = (START.fullmatch(path.name) for path in FOLDER.iterdir())
    return max(([int(one[1]), int(one[2])] for one in found if one), default=[0, 0])


def begin() -> None:
    """Leave the file of this start, then remove what earlier ones left, but the latest eight."""
    last = latest()
    mine[0] = int(GENERATION or last[0])
    mine[1] = last[1] + 1 if mine[0] == last[0] else 1
    end_if_stale()
    new = FOLDER / f".start.{UID or os.getpid()}.trainer-tmp"
    start = {"version": 1, "generation": mine[0], "number": mine[1], "pod_uid": UID}
    new.write_text(json.dumps({**start, "at": time.time()}))
    os.link(new, FOLDER / f"start-{mine[0]}-{mine[1]}.json")  # fails if it exists
    answers = sorted(FOLDER.glob("ack-*.json"), key=lambda path: path.stat().st_mtime)
    names = (START.fullmatch(path.name) for path in FOLDER.iterdir())
    starts = sorted((int(one[1]), int(one[2]), FOLDER / one[0]) for one in names if one)
    old = answers[:-8] + [start[2] for start in starts[:-8]]
    for left in [*FOLDER.glob(".*.trainer-tmp"), *old]:
        left.unlink(missing_ok=True)


def end_if_stale() -> None:
    """End without a save if another copy of this training has begun."""
    if latest() > mine:
        sys.exit(143)


def put(name: str, **fields: object) -> None:
    """Write a file whole and durably, or not at all."""
    write(FOLDER / name, json.dumps({"version": 1, **fields}))


def write(path: Path, text: str) -> None:
    """Write to a temporary name, fsync, look for a later start, rename, fsync the directory."""
    new = path.with_name(f".{path.name}.{mine[0]}-{mine[1]}.trainer-tmp")
    with new.open("w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    if latest() > mine:
        new.unlink(missing_ok=True)
        sys.exit(143)
    new.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    os.fsync(folder)
    os.close(folder)


def read(name: str) -> dict:
    """Return the content of a file; empty if it is missing, not JSON or of another version."""
    try:
        found = json.loads((FOLDER / name).read_text())
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) and found.get("version") == 1 else {}


def save(step: int, weight: float) -> dict:
    """Write a checkpoint and ``saved.json``; return its fields."""
    begun = time.time()
    write(DIRECTORY / f"step-{step}", json.dumps({"step": step, "weight": weight}))
    size = (DIRECTORY / f"step-{step}").stat().st_size
    fields = {"step": step, "path": f"step-{step}", "bytes": size, "started_at": begun}
    fields["finished_at"] = time.time()
    put("saved.json", **fields)
    return fields


def request() -> dict:
    """Return the request; empty if there is none, or a field is of another type."""
    found = read("request.json")
    types = {"id": str, "pod_uid": str, "action": str}
    times = {"deadline": (int, float), "hold_deadline": (int, float)}
    right = all(isinstance(found.get(key), kind) for key, kind in {**types, **times}.items())
    return found if right else {}


def new_request() -> str:
    """Return the id of a new request for this pod; empty without one."""
    end_if_stale()
    found = request()
    name = str(found.get("id", ""))
    safe = 0 < len(name) <= 100 and all(c.isascii() and (c.isalnum() or c in "._-") for c in name)
    mine = found.get("pod_uid") in {"", UID}
    wanted = found.get("action") == "checkpoint" and found.get("deadline", 0) > time.time()
    return name if safe and mine and wanted and not read(f"ack-{name}.json") else ""


def hold(name: str, fields: dict) -> None:
    """Take no step until SIGTERM, a cancel, or the deadline; a new request gets the same answer."""
    while not terminating:
        if other := new_request():
            name = other
            answer(name, fields)
        found = request()
        cancelled = (found.get("id"), found.get("action")) == (name, "cancel")
        if cancelled or found.get("hold_deadline", 0) <= time.time():
            why = "cancelled" if cancelled else "deadline"
            put("released.json", id=name, at=time.time(), why=why)
            return
        time.sleep(0.05)
    sys.exit(143)


def answer(name: str, fields: dict) -> None:
    """Answer a request."""
    put(f"ack-{name}.json", id=name, pod_uid=UID, ok=True, error="", **fields)


def answer_failure(name: str, step: int, error: OSError) -> None:
    """Answer a request whose checkpoint could not be saved."""
    now = time.time()
    times = {"started_at": now, "finished_at": now}
    failed = {"ok": False, "path": "", "step": step, "bytes": 0, "error": str(error), **times}
    put(f"ack-{name}.json", id=name, pod_uid=UID, **failed)


def held_before() -> str:
    """Return the request for which this pod held when it was ended; empty without one."""
    found = request()
    name = str(found.get("id", ""))
    mine = UID and found.get("pod_uid") == UID and read(f"ack-{name}.json").get("ok")
    return name if mine and read("released.json").get("id") != name else ""


def last_checkpoint() -> tuple[dict, float]:
    """Return the fields of ``saved.json`` and the weight; empty and 0 if the checkpoint is gone."""
    saved = read("saved.json")
    try:
        return saved, json.loads((DIRECTORY / saved["path"]).read_text())["weight"]
    except (KeyError, FileNotFoundError) as error:
        print("training begins at the start:", repr(error))
        return {}, 0.0


def main() -> None:
    """Train."""
    signal.signal(signal.SIGTERM, lambda number, _: terminating.append(number))
    FOLDER.mkdir(parents=True, exist_ok=True)
    FOLDER.chmod(0o2775)
    begin()
    saved, weight = last_checkpoint()
    step = saved.get("step", 0)
    put(
        "trainer.json",
        pid=os.getpid(),
        started_at=time.time(),
        resumed_step=step if saved else None,
        generation=mine[0],
        **ALONE,
    )
    if saved and (name := held_before()):
        del saved["version"]
        hold(name, saved)
    while step < STEPS:
        weight += 0.5 * (1.0 - weight)  # a step of the training
        time.sleep(STEP_SECONDS)
        step += 1
        with METRICS.open("a") as file:
            file.write(json.dumps({"step": step, "loss": 1.0 - weight}) + "\n")
        (FOLDER / "done.json").unlink(missing_ok=True)
        if name := new_request():
            try:
                fields = save(step, weight)
            except OSError as error:
                answer_failure(name, step, error)
            else:
                answer(name, fields)
                hold(name, fields)
        elif terminating:
            save(step, weight)
            sys.exit(143)
    save(step, weight)
    put("done.json", step=step, finished_at=time.time())


main()
