"""``python -m bench agent``: what the agent costs its node.

A real agent process, with default settings, follows pods that have trained for twenty minutes and
write one line per second: of JSON into a metrics file, or what a program prints, or what no format
reads, into the container's log; each has a checkpoint directory. It reports over TLS to one
replica, which runs here and only counts. Control groups are ordinary files. The process has the
environment of the image (``Dockerfile.agent``), and like there everything is compiled before.
CPU is user and system time of the agent's process over the measured time, as a share of one core;
``loop ms`` is the CPU time of a fixed Python loop at the end: on a busy machine, whose cores share
caches and clock with other programs, both are larger. Resident memory is that of the whole process,
including Python and its libraries.
"""

import argparse
import asyncio
import contextlib
import gzip
import itertools
import json
import os
import random
import ssl
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import psutil
import yaml
from aiohttp import web

from devcluster.credentials.certificates import Authority
from shared import wire
from shared.system_clock import SystemClock
from shared.wire import HeartbeatAnswer, NodePods, PodPlace

NODE: Final = "bench"
NAMESPACE: Final = "bench"
SETTLE_SECONDS: Final = 3.0
PATIENCE_SECONDS: Final = 300.0
GZIP_MAGIC: Final = b"\x1f\x8b"
HISTORY_LINES: Final = 1200
"""Lines of logs that began twenty minutes ago."""
UNREAD_HEARTBEATS: Final = 3
"""After so many the agent has read all, where no step can show it."""
LOOP_ROUNDS: Final = 200_000
_MIB: Final = 2**20
DOCKERFILE: Final = Path(__file__).parents[2] / "Dockerfile.agent"


@dataclass
class Replica:
    """The extender's side: counts and answers heartbeats.

    Attributes:
        pods: Pods of the node.
        url: Its address.
        heartbeats: Number of received heartbeats.
        taken_bytes: Their size on the wire.
        caught_up: Set once the current step of every pod was reported, if it can be read.
    """

    pods: tuple[PodPlace, ...]
    lines: str
    url: str = ""
    heartbeats: int = 0
    taken_bytes: int = 0
    caught_up: asyncio.Event = field(default_factory=asyncio.Event)
    _present: set[str] = field(default_factory=set)

    @contextlib.asynccontextmanager
    async def listening(self, certificate: Path, key: Path) -> AsyncIterator[None]:
        """Listen while the context lasts."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        app = web.Application(client_max_size=64 * _MIB)
        app.router.add_post("/v1/heartbeats", self._heartbeat)
        app.router.add_get("/v1/nodes/{node}/pods", self._pods)
        runner = web.AppRunner(app, access_log=None, auto_decompress=False, shutdown_timeout=0.1)
        await runner.setup()
        try:
            await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
            self.url = f"https://127.0.0.1:{runner.addresses[0][1]}"
            yield
        finally:
            await runner.cleanup()

    async def _heartbeat(self, request: web.Request) -> web.Response:
        body = await request.read()
        self.taken_bytes += len(body)
        self.heartbeats += 1
        if not self.caught_up.is_set():
            self._read(body)
        return web.json_response(body=wire.encode(HeartbeatAnswer(acting=True)))

    def _read(self, body: bytes) -> None:
        heartbeat = json.loads(gzip.decompress(body) if body.startswith(GZIP_MAGIC) else body)
        steps = {pod["uid"]: pod.get("progress", {}).get("step", 0) for pod in heartbeat["pods"]}
        self._present |= {uid for uid, step in steps.items() if step >= HISTORY_LINES}
        unread = self.lines == "unread" and self.heartbeats >= UNREAD_HEARTBEATS
        if unread or len(self._present) == len(self.pods):
            self.caught_up.set()

    async def _pods(self, request: web.Request) -> web.Response:
        headers = {"ETag": '"1"'}
        if request.headers.get("If-None-Match") == headers["ETag"]:
            return web.Response(status=304, headers=headers)
        body = wire.encode(NodePods(node=NODE, pods=self.pods))
        return web.json_response(body=body, headers=headers)


@dataclass(frozen=True)
class Row:
    """Results with one number of pods.

    Attributes:
        cpu_ratio: Share of one core.
        resident_bytes: Resident memory at the end.
        heartbeats: Number during the measured time.
        bytes_per_second: Of heartbeats, on the wire.
        loop_ms: CPU time of the loop that measures the speed of the machine.
    """

    pods: int
    cpu_ratio: float
    resident_bytes: int
    heartbeats: int
    bytes_per_second: float
    loop_ms: float


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of this benchmark."""
    parser.add_argument("--pods", default="10,100,300", metavar="N[,…]")
    parser.add_argument("--seconds", type=float, default=30.0, help="measured time of each row")
    parser.add_argument("--lines", default="json", choices=tuple(LINES), help="default: json")


def run(options: argparse.Namespace) -> int:
    """Measure, print, and return the exit code."""
    print(
        f"{'pods':>5} {'CPU %':>7} {'loop ms':>8} {'RSS MiB':>8} {'heartbeats':>11} {'bytes/s':>8}"
    )
    for count in (int(text) for text in options.pods.split(",")):
        with tempfile.TemporaryDirectory() as directory:
            row = asyncio.run(_measure(Path(directory), count, options.seconds, options.lines))
        print(
            f"{row.pods:5} {100 * row.cpu_ratio:7.2f} {row.loop_ms:8.1f} "
            f"{row.resident_bytes / _MIB:8.1f} {row.heartbeats:11} {row.bytes_per_second:8.0f}"
        )
    return 0


async def _measure(directory: Path, count: int, seconds: float, lines: str) -> Row:
    pods = tuple(_pod(number) for number in range(count))
    replica = Replica(pods, lines)
    authority = Authority.create(directory / "pki", SystemClock())
    pair = authority.issue_server("extender")
    files = _lay_out(directory, pods, lines)
    async with replica.listening(pair.certificate, pair.key), asyncio.TaskGroup() as group:
        writing = group.create_task(_write(files, LINES[lines]))
        settings = _settings(directory, replica.url, authority.certificate)
        try:
            async with _agent(settings) as process:
                return await _watch(process, replica, seconds)
        finally:
            writing.cancel()


async def _watch(process: psutil.Process, replica: Replica, seconds: float) -> Row:
    async with asyncio.timeout(PATIENCE_SECONDS):
        await replica.caught_up.wait()
    await asyncio.sleep(SETTLE_SECONDS)
    heartbeats, taken_bytes = replica.heartbeats, replica.taken_bytes
    cpu_seconds, begun = _cpu_seconds(process), time.monotonic()
    await asyncio.sleep(seconds)
    passed = time.monotonic() - begun
    return Row(
        pods=len(replica.pods),
        cpu_ratio=(_cpu_seconds(process) - cpu_seconds) / passed,
        resident_bytes=process.memory_info().rss,
        heartbeats=replica.heartbeats - heartbeats,
        bytes_per_second=(replica.taken_bytes - taken_bytes) / passed,
        loop_ms=statistics.median(_loop_ms() for _ in range(5)),
    )


@contextlib.asynccontextmanager
async def _agent(settings: Path) -> AsyncIterator[psutil.Process]:
    environ = {name: text for name, text in os.environ.items() if "SHUNTYARD" not in name}
    environ |= image_variables() | {"PYTHONPYCACHEPREFIX": str(settings.parent / "compiled")}
    await _compile(environ)
    arguments = (sys.executable, "-m", "agent", "--settings", str(settings))
    process = await asyncio.create_subprocess_exec(*arguments, env=environ)
    try:
        yield psutil.Process(process.pid)
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()


def image_variables() -> dict[str, str]:
    """Return the environment variables of the image, but where it has its files."""
    final = DOCKERFILE.read_text().rpartition("\nFROM ")[2]
    lines = [line.removeprefix("ENV ") for line in final.splitlines() if line.startswith("ENV ")]
    pairs = [pair.partition("=") for line in lines for pair in line.split()]
    return {name: text for name, _, text in pairs if "/opt/shuntyard" not in text}


async def _compile(environ: Mapping[str, str]) -> None:
    """Compile what the agent loads, as a build of the image does."""
    writing = {name: text for name, text in environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    modules = "import agent.main, agent.running, agent.starting"
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", modules, env=writing)
    if await process.wait():
        raise RuntimeError("the agent cannot be loaded")


async def _write(files: Sequence[Path], line: "Line") -> None:
    """Append a line to each file every second, spread over the second."""
    with contextlib.ExitStack() as stack:
        streams = [stack.enter_context(file.open("a", buffering=1)) for file in files]
        rng, begun = random.Random(1), time.monotonic()  # noqa: S311 - noise of a loss
        for step in itertools.count(HISTORY_LINES):
            for number, stream in enumerate(streams):
                due = begun + step - HISTORY_LINES + number / len(streams)
                await asyncio.sleep(max(0.0, due - time.monotonic()))
                stream.write(line(step, time.time(), rng))  # noqa: TID251 - it acts as the trainer


def _json(step: int, at: float, rng: random.Random) -> str:
    """Return a line like that of our metrics writer; the loss falls, with noise."""
    record = {
        "time": at,
        "step": step,
        "loss": _loss(step, rng),
        "learning_rate": 0.001,
        "total_steps": 10 * HISTORY_LINES,
    }
    return f"{json.dumps(record)}\n"


def _printed(step: int, at: float, rng: random.Random) -> str:
    """Return a line like those of nanoGPT, as a container's log has it."""
    return _logged(at, f"iter {step}: loss {_loss(step, rng):.4f}, time 929.71ms, mfu 16.59%")


def _unread(step: int, at: float, rng: random.Random) -> str:
    """Return a line of a web server, with words and numbers but no metric."""
    taken = rng.randrange(900)
    return _logged(at, f"INFO 10.0.0.{step % 250} GET /batch/{step}?page=3 200 in {taken} ms")


def _logged(at: float, text: str) -> str:
    moment = datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%S.%f000Z")
    return f"{moment} stdout F {text}\n"


def _loss(step: int, rng: random.Random) -> float:
    return 0.5 + 2.0 / (1 + 0.01 * step) + rng.gauss(0.0, 0.01)


Line = Callable[[int, float, random.Random], str]
LINES: Final[Mapping[str, Line]] = {"json": _json, "printed": _printed, "unread": _unread}


def _pod(number: int) -> PodPlace:
    name = f"train-{number}"
    return PodPlace(
        namespace=NAMESPACE,
        name=name,
        uid=f"00000000-0000-4000-8000-{number:012}",
        job=name,
        role="worker",
        index=0,
        created_at=time.time(),  # noqa: TID251 - it acts as the API server
        checkpoint="",
    )


def _lay_out(directory: Path, pods: Sequence[PodPlace], lines: str) -> list[Path]:
    """Create a volume with checkpoint directories, logs, and control groups of version 2."""
    files, rng = [], random.Random(2)  # noqa: S311 - noise of a loss
    (directory / "groups").mkdir()
    (directory / "groups" / "cgroup.controllers").write_text("cpu memory\n")
    (directory / "token").write_text("token")
    for pod in pods:
        job = directory / "volume" / pod.namespace / pod.job
        contract = job / "checkpoints" / ".shuntyard"
        for folder in (job / "metrics", contract):
            folder.mkdir(parents=True)
        trainer = {"version": 1, "pid": 1, "started_at": pod.created_at, "pod_uid": pod.uid}
        (contract / "trainer.json").write_text(json.dumps(trainer))
        began = pod.created_at - HISTORY_LINES
        file = job / "metrics" / f"{pod.name}.jsonl"
        if lines != "json":
            file = directory / f"pods/{pod.namespace}_{pod.name}_{pod.uid}/main/0.log"
            file.parent.mkdir(parents=True)
        file.write_text("".join(LINES[lines](n, began + n, rng) for n in range(HISTORY_LINES)))
        files.append(file)
        group = directory / "groups" / "kubepods" / f"pod{pod.uid}"
        group.mkdir(parents=True)
        (group / "cpu.stat").write_text("usage_usec 1\nnr_periods 9\nnr_throttled 1\n")
        (group / "memory.current").write_text("1000000\n")
        (group / "memory.stat").write_text("anon 5\ninactive_file 7\n")
    return files


def _settings(directory: Path, url: str, authority: Path) -> Path:
    sections = {
        "agent": {"node": NODE},
        "extender": {
            "urls": [url],
            "authority": str(authority),
            "token": str(directory / "token"),
        },
        "paths": {"volume": str(directory / "volume"), "pod_logs": str(directory / "pods")},
        "sampling": {"source": "cgroup2", "cgroup_root": str(directory / "groups")},
        "api": {"listen_port": 0},
        "logging": {"level": "warning"},
    }
    file = directory / "agent.yaml"
    file.write_text(yaml.safe_dump(sections))
    return file


def _cpu_seconds(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


def _loop_ms() -> float:
    begun, total = time.process_time(), 0
    for number in range(LOOP_ROUNDS):
        total += number * number % 7
    return 1000 * (time.process_time() - begun)
