"""The whole agent in the test process: a volume, pod logs, trust, and replicas it reports to."""

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp

from agent.parameters import AgentParameters
from agent.running import Parts, inspect_machine, serve
from agent.settings import AgentSettings
from shared.progress import CheckpointPhase, PodReport
from tests.fakes.eventually import eventually
from tests.fakes.extender import NODE, FakeExtender, Trust

UID = "uid-train"
METRICS = "team/train/metrics/train.jsonl"
QUICK: dict[str, dict[str, Any]] = {
    "agent": {"node": NODE},
    "extender": {"timeout_seconds": 2.0, "resolve_seconds": 1.0},
    "report": {
        "interval_seconds": 0.05,
        "settle_seconds": 0.01,
        "backoff_seconds": 0.02,
        "most_backoff_seconds": 0.1,
    },
    "discovery": {"interval_seconds": 0.05},
    "following": {
        "interval_seconds": 0.05,
        "checkpoint_seconds": 0.05,
        "asked_seconds": 0.05,
        "find_seconds": 0.05,
    },
    "sampling": {"source": "none", "interval_seconds": 0.1},
    "api": {"listen_port": 0},
}


@dataclass
class Node:
    """The node of the agent: its volume, its pods' logs, and its files of trust."""

    directory: Path
    trust: Trust

    @property
    def volume(self) -> Path:
        return self.directory / "volume"

    @property
    def pod_logs(self) -> Path:
        return self.directory / "pods"

    def settings(self, *replicas: FakeExtender, **changes: dict[str, Any]) -> AgentParameters:
        sections = {name: {**values, **changes.pop(name, {})} for name, values in QUICK.items()}
        sections["extender"] |= {
            "urls": [replica.url for replica in replicas],
            "authority": self.trust.authority,
            "token": self.trust.token,
        }
        sections["paths"] = {"volume": self.volume, "pod_logs": self.pod_logs}
        return AgentSettings.model_validate({**sections, **changes}).parameters()

    async def write(self, path: str, *lines: object) -> Path:
        """Append lines to a file of the volume; a line that is no text is written as JSON."""
        text = "".join(f"{one if isinstance(one, str) else json.dumps(one)}\n" for one in lines)
        return await asyncio.to_thread(_append, self.volume / path, text)


@dataclass
class Running:
    """A running agent."""

    parts: Parts
    url: str
    task: asyncio.Task[None]

    async def kill(self) -> None:
        """End it as SIGKILL would: none of its tasks runs on."""
        self.task.cancel()
        with contextlib.suppress(asyncio.CancelledError, BaseExceptionGroup):
            await self.task


@contextlib.asynccontextmanager
async def agent(
    node: Node, *replicas: FakeExtender, **changes: dict[str, Any]
) -> AsyncIterator[Running]:
    """Run an agent; ``changes`` replace keys of sections of ``QUICK``."""
    settings = node.settings(*replicas, **changes)
    machine = await asyncio.to_thread(inspect_machine, settings, {})
    ready: asyncio.Future[tuple[Parts, Any]] = asyncio.get_running_loop().create_future()
    stop = asyncio.Event()
    task = asyncio.create_task(
        serve(settings, machine, stop=stop, ready=lambda *addresses: ready.set_result(addresses))
    )
    await asyncio.wait({task, ready}, return_when=asyncio.FIRST_COMPLETED)
    if task.done():
        await task
    parts, (host, port) = ready.result()
    try:
        yield Running(parts, f"http://{host}:{port}", task)
    finally:
        stop.set()
        with contextlib.suppress(asyncio.CancelledError):
            await task


class TrainerByHand:
    """The trainer's side of the checkpoint contract, simulated by a test.

    Args:
        root: Of the volume.
        path: The checkpoint directory below it.
    """

    def __init__(self, root: Path, path: str = "team/train/checkpoints") -> None:
        self.inner = root / path / ".shuntyard"

    async def open(self, uid: str = "uid-train", **fields: Any) -> None:
        """Begin: create the directory and write the trainer's identity."""
        await asyncio.to_thread(self.inner.mkdir, parents=True, exist_ok=True)
        await self.say("trainer.json", **{"pid": 1, "started_at": 1.0, "pod_uid": uid, **fields})

    async def say(self, name: str, **content: Any) -> None:
        """Put a file there in one step."""
        await asyncio.to_thread(_replace, self.inner / name, {"version": 1, **content})

    async def request(self) -> dict[str, Any]:
        """Return the agent's request; empty if there is none."""
        return await asyncio.to_thread(_read, self.inner / "request.json")


def _replace(file: Path, content: dict[str, Any]) -> None:
    temporary = file.with_name(".by-hand")
    temporary.write_text(json.dumps(content))
    temporary.replace(file)


def _read(file: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {}
    return found


def _append(file: Path, text: str) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a") as stream:
        stream.write(text)
    return file


def point(step: int, loss: float, **more: Any) -> dict[str, Any]:
    """A line of our metrics writer, as of now."""
    return {"time": time.time(), "step": step, "loss": loss, **more}  # noqa: TID251 - the trainer's own clock


def reported(
    replica: FakeExtender, uid: str, claim: Callable[[PodReport], object]
) -> Callable[[], object]:
    """Return a check that the replica's report of the pod fulfils the claim."""

    def check() -> object:
        report = replica.reports().get(uid)
        assert report is not None, f"nothing of {uid}"
        assert claim(report), report
        return True

    return check


def at_step(replica: FakeExtender, step: int) -> Any:
    return reported(replica, UID, lambda r: r.progress and r.progress.step == step)


def in_phase(replica: FakeExtender, phase: CheckpointPhase) -> Any:
    return reported(replica, UID, lambda r: r.checkpoint and r.checkpoint.phase is phase)


def has_problem(replica: FakeExtender, text: str, uid: str = UID) -> Any:
    return reported(replica, uid, lambda r: text in r.problem)


async def beats(replica: FakeExtender, more: int = 3) -> None:
    """Wait until the replica has received more heartbeats."""
    wanted = len(replica.heartbeats) + more
    await eventually(lambda: len(replica.heartbeats) >= wanted)


async def ask(url: str, path: str, status: int = 200) -> str:
    """Return the answer of the agent's own listener."""
    async with aiohttp.ClientSession() as session, session.get(f"{url}/{path}") as response:
        assert response.status == status
        return await response.text()
