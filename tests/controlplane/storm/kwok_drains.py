"""Drains of many fake nodes: the gangs on them, what strikes the nodes, and the parkings' ledger.

The agents and trainers are played (`tests.controlplane.played_agents`). Some nodes are the north:
its gangs fill it, so that others leave for an important gang that starts there.
"""

import asyncio
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Final

import msgspec
from typing_extensions import override

from devcluster.options import KwokNodes
from extender.core.records.parking import Cause, Parking, Phase
from shared import labels
from shared.kube import paths
from tests.controlplane import faults
from tests.controlplane.jobs import Manifest, Pods
from tests.controlplane.played_agents import PlayedAgents
from tests.controlplane.storm.drains import Announcements, Kinds
from tests.controlplane.storm.laws import Known, Outage, seconds_outside
from tests.controlplane.storm.recovery import Recovery
from tests.controlplane.storm.strikes import Strikes
from tests.controlplane.storm.work import Gang, Work
from tests.controlplane.watching import History, Object, is_gated, job_of, node_of

NODES: Final = 200
NORTH: Final = 20
"""So many of them, the first ones, are the north."""
CPU: Final = 4
ZONE: Final = "storm/zone"
IMPORTANT: Final = "important"
MOST: Final = {"anywhere": 44, "north": 14, IMPORTANT: 2}
"""Gangs of each kind at one time."""
IMPORTANT_SECONDS: Final = (4.0, 10.0)
LAST_SECONDS: Final = (0.0, 2.0)
RELEASE_SECONDS: Final = 15.0
"""The extender lets victims come back beside the job that starts; it may be killed in between."""
NEVER: Final = float("inf")
SERVER: Final = "kube-apiserver"
KILLED: Final = ("extender", SERVER)


def nodes(first: int, end: int) -> KwokNodes:
    """Return the nodes from one number to before another, all in the north or none."""
    zone = "north" if first < NORTH else "south"
    return KwokNodes(end - first, cpu=str(CPU), first=first, labels={ZONE: zone})


@dataclass
class Gangs(Work):
    """Gangs of Jobs that save when they are asked; each ends while it runs.

    Attributes:
        jobs: The history of the Jobs.
    """

    jobs: History = field(default_factory=History)

    @override
    async def step(self) -> None:
        await self.end()
        here = Counter(gang.kind for gang in self.here)
        lacking = [kind for kind, most in MOST.items() if here[kind] < most]
        if lacking:
            await self.submit(self.rng.choice(lacking))

    @override
    def seconds(self, gang: Gang) -> float:
        return self.rng.uniform(
            *(IMPORTANT_SECONDS if gang.kind == IMPORTANT else self.run_seconds)
        )

    @override
    def may_end(self, gang: Gang) -> bool:
        mine = (job for job in self.jobs.pods.values() if job["metadata"]["name"] == gang.name)
        records = (record_of(job) for job in mine)
        return self.whole(gang) and not any(one is not None and one.open for one in records)

    @override
    def manifests(self, gang: Gang) -> list[tuple[str, Manifest]]:
        spec: Manifest = {} if gang.kind == "anywhere" else {"nodeSelector": {ZONE: "north"}}
        if gang.kind == IMPORTANT:
            spec["priorityClassName"] = IMPORTANT
        marks, notes = {"directory": gang.name}, {labels.CHECKPOINT: ""}
        pods = Pods(labels=marks, annotations=notes, spec=spec)
        return [(paths.JOBS, faults.gang(gang.name, gang.size, pods))]

    def running(self) -> int:
        """Return how many gangs are whole now."""
        return sum(map(self.whole, self.here))

    def end_soon(self) -> None:
        """Let each gang end as soon as it is whole once more."""
        self.run_seconds = LAST_SECONDS
        for gang in self.here:
            gang.ends_at = None


@dataclass(kw_only=True)
class KwokDrains(Announcements):
    """Announcements; nodes that vanish and programs that are killed, one of these at a time.

    Attributes:
        killed: How often each program was killed.
    """

    faults: Strikes
    agents: PlayedAgents
    recovery: Recovery
    killed: Counter[str] = field(default_factory=Counter)
    _one: asyncio.Lock = field(default_factory=asyncio.Lock)

    @override
    def working_since(self) -> float:
        return self.recovery.since

    @override
    def kinds(self) -> Kinds:
        return {**super().kinds(), "kill": self._kill, "delete node": self._delete}

    async def _kill(self, _node: str) -> None:
        program = self.rng.choice(KILLED)
        self.killed[program] += 1
        async with self._one:
            self.recovery.lost()
            await self.faults.kill(program)
            await faults.revive(self.yard.cluster)
            await self.recovery.complete()
            if program == SERVER:
                self.faults.known.outages[-1].over = self.recovery.since

    async def _delete(self, node: str) -> None:
        async with self._one:
            await self.faults.delete_node(node)
            await self.faults.restore_nodes()
            await self.agents.enrol(node)


@dataclass
class Ledger:
    """What the records on the jobs say of their parkings.

    Attributes:
        last: The last version of each parking, in the order in which they began.
        records: The last record of each job, by the job's name.
    """

    last: dict[str, Parking] = field(default_factory=dict)
    records: dict[str, Parking] = field(default_factory=dict)

    @classmethod
    def read(cls, jobs: History) -> "Ledger":
        """Read the history of the jobs."""
        found = cls()
        for event in jobs.events:
            if (record := record_of(event.pod)) is not None:
                meta = event.pod["metadata"]
                found.last[record.id] = record
                found.records[f"{meta['namespace']}/{meta['name']}"] = record
        return found

    def broken(self) -> Iterator[str]:
        """Yield a line for each parking that is not accounted for, exactly once."""
        for job, record in self.records.items():
            mine = [one for one in self.last.values() if one.owner == record.owner]
            if record.open and record.phase is not Phase.ASKED:  # begun as its user ended the job
                yield f"{job}: its parking is {record.phase.value} in the end"
            if any(one.open for one in mine[:-1]):
                yield f"{job}: a parking began before the last one had ended"
            count = 1 + sum(one.phase is not Phase.ABORTED for one in mine[:-1])
            if record.count != count:
                yield f"{job}: it was parked {count} times, by its record {record.count}"
            parked = sum(_parked_seconds(one) for one in mine)
            if abs(parked - record.parked_seconds) > 1e-3:
                yield f"{job}: parked for {parked:.3f} s, by its record {record.parked_seconds:.3f}"

    def starts(self) -> dict[tuple[str, float], list[Parking]]:
        """Return the parkings by the start for which they made room, if all of them have left."""
        found: dict[tuple[str, float], list[Parking]] = {}
        for one in self.last.values():
            if one.cause is Cause.PRIORITY and one.starts is not None:
                found.setdefault((one.starts, one.at), []).append(one)
        return {start: all_ for start, all_ in found.items() if all(p.parked_at for p in all_)}

    def failed(self, released_at: dict[str, float], outages: Collection[Outage] = ()) -> list[str]:
        """Return the jobs whose victims came back, and that were not released by then.

        Args:
            released_at: As of `first_released`, in seconds since the epoch.
            outages: Of the API server, in seconds since the epoch; they do not count.
        """
        failed = []
        for (starter, _), victims in self.starts().items():
            back = min((p.resumed_at for p in victims if p.resumed_at), default=NEVER)
            namespace, _, name = starter.split("/")
            released = released_at.get(f"{namespace}/{name}", NEVER)
            if released > back and seconds_outside(outages, back, released) >= RELEASE_SECONDS:
                failed.append(starter)
        return failed


def record_of(job: Object) -> Parking | None:
    """Return the last parking of a Job; None if it was never parked."""
    text = (job["metadata"].get("annotations") or {}).get(labels.PARKING)
    return None if text is None else msgspec.json.decode(text, type=Parking)


def _parked_seconds(one: Parking) -> float:
    if one.phase is not Phase.RESUMED:
        return 0.0
    return max(0.0, (one.resumed_at or one.since) - one.parked_at)


def first_released(history: History, known: Known) -> dict[str, float]:
    """Return when the members of each gang that was whole first had lost their gates.

    They bind later, which is not for the extender to say: kube-scheduler may be about to recover.
    """
    released: dict[str, float] = {}
    placed: dict[str, set[str]] = {}
    found: dict[str, float] = {}
    for event in history.events:
        job = job_of(event.pod)
        if job not in known.sizes or job in found:
            continue
        if not is_gated(event.pod):
            released.setdefault(event.uid, event.at)
        here = placed.setdefault(job, set())
        if event.gone:
            here.discard(event.uid)
        elif node_of(event.pod) is not None:
            here.add(event.uid)
        if len(here) >= known.sizes[job]:
            found[job] = max(released[uid] for uid in here)
    return found
