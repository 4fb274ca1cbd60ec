"""``python -m bench sampling``: what sampling the pods of a node costs the agent.

Each pod has two containers. Trees of ordinary files show the cost of our own code; where this
machine lets us create control groups of version 1, the same pods are also measured there, where the
kernel generates the files' content on each read. ``sample`` samples known pods, as happens every
few seconds; ``found`` is the first sample, when no directory is known; ``in vain`` walks the tree
for a pod that does not exist. CPU is user and system time.
"""

import argparse
import itertools
import json
import statistics
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

import psutil

from agent.sampling.cgroups import CONTROLLERS, Version1, Version2, hierarchies
from agent.sampling.finding import DEFAULT_CGROUP_ROOT
from agent.sampling.kernel_files import OpenFiles, affordable
from agent.sampling.pods import PodSampler
from agent.sampling.readings import PodSource
from shared.model import Uid

_CONTAINERS: Final = ("pause", "trainer")
_PARENTS: Final = ("kubepods/burstable", "kubepods/besteffort", "kubepods")
_STAT_LINES: Final = 50  # the other lines of memory.stat
_PAUSE_SECONDS: Final = (
    60.0  # on the sampler's clock: containers are listed again, and walks may begin
)


@dataclass(frozen=True)
class Row:
    """One tree with so many pods; medians in milliseconds."""

    tree: str
    pods: int
    sample_ms: float
    sample_cpu_ms: float
    found_ms: float
    in_vain_ms: float
    open_files: int


@dataclass(frozen=True)
class _Tree:
    """Pods in control groups, and a factory of the source that reads them."""

    name: str
    uids: tuple[Uid, ...]
    source: Callable[[OpenFiles], PodSource]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of this benchmark."""
    parser.add_argument("--pods", default="10,100,300", metavar="N[,…]")
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--json", type=Path, help="also write the rows to this file")


def run(options: argparse.Namespace) -> int:
    """Measure, print, and return the exit code."""
    rows = []
    for count in (int(text) for text in options.pods.split(",")):
        for make in (_files, _groups):
            with make(count) as tree:
                if tree is not None:
                    rows.append(_row(tree, options.rounds))
    _print(rows)
    if options.json:
        options.json.write_text(json.dumps([asdict(row) for row in rows], indent=2) + "\n")
    return 0


def _row(tree: _Tree, rounds: int) -> Row:
    files = OpenFiles(affordable())
    sampler = PodSampler([tree.source(files)])
    clock = itertools.count(step=5.0)
    found_ms, _ = _timed(lambda: sampler.sample(tree.uids, next(clock)))
    samples = [_timed(lambda: sampler.sample(tree.uids, next(clock))) for _ in range(rounds)]
    missing = (*tree.uids, Uid(str(uuid.uuid4())))
    vain = itertools.count(start=next(clock) + _PAUSE_SECONDS, step=_PAUSE_SECONDS)
    walks = [_timed(lambda: sampler.sample(missing, next(vain))) for _ in range(rounds)]
    kept = files.kept
    sampler.close()
    return Row(
        tree.name,
        len(tree.uids),
        round(statistics.median(wall for wall, _ in samples), 2),
        round(statistics.median(cpu for _, cpu in samples), 2),
        round(found_ms, 2),
        round(statistics.median(wall for wall, _ in walks), 2),
        kept,
    )


def _timed(look: Callable[[], object]) -> tuple[float, float]:
    """Return milliseconds of wall time and CPU time."""
    wall, cpu = time.perf_counter(), time.process_time()
    look()
    return (time.perf_counter() - wall) * 1000, (time.process_time() - cpu) * 1000


def _uids(count: int) -> tuple[Uid, ...]:
    return tuple(Uid(str(uuid.uuid4())) for _ in range(count))


def _paths(uids: Sequence[Uid]) -> Iterator[tuple[str, ...]]:
    """Yield the directories of each pod and of its containers, below the root."""
    for number, uid in enumerate(uids):
        pod = f"{_PARENTS[number % len(_PARENTS)]}/pod{uid}"
        yield (pod, *(f"{pod}/{container}" for container in _CONTAINERS))


@contextmanager
def _files(count: int) -> Iterator[_Tree]:
    uids = _uids(count)
    with tempfile.TemporaryDirectory() as text:
        root = Path(text)
        for number in range(200):
            (root / f"system.slice/service-{number}.service").mkdir(parents=True)
        for directory in itertools.chain.from_iterable(_paths(uids)):
            _write_version2(root / directory)
        yield _Tree("files, version 2", uids, lambda files: Version2(root, files))


def _write_version2(group: Path) -> None:
    group.mkdir(parents=True)
    (group / "cpu.stat").write_text("usage_usec 1\nuser_usec 1\nnr_periods 9\nnr_throttled 1\n")
    (group / "memory.current").write_text("1000000\n")
    lines = "".join(f"line_{number} {number}\n" for number in range(_STAT_LINES))
    (group / "memory.stat").write_text(lines + "inactive_file 7\n")
    (group / "cpu.pressure").write_text("some avg10=0.00 avg60=0.00 avg300=0.00 total=0\n")


@contextmanager
def _groups(count: int) -> Iterator[_Tree | None]:
    """Yield real control groups below one of our own; None where that is not possible."""
    uids, own = _uids(count), f"shuntyard-bench-{uuid.uuid4().hex[:8]}"
    mounted = hierarchies(DEFAULT_CGROUP_ROOT)
    if set(mounted) != set(CONTROLLERS):
        yield None
        return
    with ExitStack() as cleanup:
        try:
            for mount in dict.fromkeys(mounted.values()):
                for directory in _with_parents(uids):
                    group = mount / own / directory
                    group.mkdir()
                    cleanup.callback(group.rmdir)
        except OSError as error:
            print(f"no control groups: {error}")
            yield None
            return
        roots = {name: mount / own for name, mount in mounted.items()}
        yield _Tree("kernel, version 1", uids, lambda files: Version1(roots, files))


def _with_parents(uids: Sequence[Uid]) -> list[Path]:
    """Return every directory after its parent."""
    paths = {Path(name) for name in itertools.chain.from_iterable(_paths(uids))}
    paths |= {parent for path in paths for parent in path.parents}
    return sorted(paths)


def _print(rows: Sequence[Row]) -> None:
    print(f"{'tree':<18} {'pods':>5} {'sample ms':>10} {'CPU ms':>7} {'found ms':>9}", end="")
    print(f" {'in vain ms':>11} {'open':>5}")
    for row in rows:
        print(f"{row.tree:<18} {row.pods:5} {row.sample_ms:10.2f} {row.sample_cpu_ms:7.2f}", end="")
        print(f" {row.found_ms:9.2f} {row.in_vain_ms:11.2f} {row.open_files:5}")
    resident = psutil.Process().memory_info().rss / 2**20
    print(f"resident at the end, including Python and this benchmark: {resident:.0f} MiB")
