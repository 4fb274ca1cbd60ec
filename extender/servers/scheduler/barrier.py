"""The bind barrier: calls wait here until their whole gang has arrived, then the burst runs.

Every call ends in one of these ways, and each is safe to repeat:

* the pod is bound to that node (by this call or an earlier one, answered or not): success;
* the pod, its node or its plan is gone: an error at once;
* the gang did not arrive within ``bind_wait_seconds``: an error, kube-scheduler tries again;
* ``most_calls`` wait already: an error at once, and kube-scheduler tries again later; the pod has
  arrived all the same, for ``bind_wait_seconds``, so a gang may be larger than the listener has
  connections, and may be bound before the call comes again;
* the Binding failed: an error, kube-scheduler tries again.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from extender.core.cluster.snapshot import Snapshot
from extender.core.kinds import registry
from extender.core.parameters.combined import CoreParameters
from extender.core.scheduler import binding, generation
from extender.core.scheduler.binding import CallError
from extender.metrics.extender import ExtenderMetrics
from extender.metrics.requests import Passed
from extender.store.source import SnapshotSource
from extender.writers.bindings import Bindings
from shared.health import Heartbeat
from shared.model import JobKey, NodeName, Pod, PodKey, Uid

CHECK_SECONDS = 1.0
"""Waiting gangs are checked this often without a new arrival; a check reads all their members."""

CALLS_SHARE = 0.9
"""Share of the listener's connections that waiting calls may take; filter needs some too."""


@dataclass
class Arrival:
    """A pod that reached bind."""

    pod: Pod
    node: NodeName
    outcome: asyncio.Future[CallError | None]
    started: bool = False
    counts_until: float | None = None
    """By the event loop's clock, if no call waits for the outcome; None: a call waits."""
    annotations: Mapping[str, str] = field(default_factory=dict)


@dataclass
class BindBarrier:
    """See the module. Handlers call ``bind``; ``run`` is the loop that opens the barrier."""

    store: SnapshotSource
    bindings: Bindings
    parameters: CoreParameters
    acting: Callable[[], bool]
    metrics: ExtenderMetrics
    heartbeat: Heartbeat
    bind_wait_seconds: float
    most_calls: int
    arrivals: dict[JobKey, dict[Uid, Arrival]] = field(default_factory=dict)
    _ready: set[JobKey] = field(default_factory=set)
    _begun: set[JobKey] = field(default_factory=set)
    """Gangs of which some members were bound without a bind call."""
    _wake: asyncio.Event = field(default_factory=asyncio.Event)
    _calls: int = 0

    async def bind(self, namespace: str, name: str, uid: str, node: str) -> CallError | None:
        """Bind one pod together with its gang; return why that fails, None if it does not."""
        if not self.acting():
            return binding.STANDBY
        snapshot, key = self.store.snapshot(), PodKey(f"{namespace}/{name}")
        if binding.is_bound(snapshot, Uid(uid), NodeName(node)):
            return None
        if error := binding.objection(snapshot, key, Uid(uid), NodeName(node), self.parameters):
            return error
        pod = snapshot.pods[key]
        if pod.scheduler_name != self.parameters.scheduler_name:
            self.metrics.requests.passed.labels(verb=Passed.BIND.value).inc()
        arrival = self._arrive(pod, NodeName(node), snapshot)
        if self._calls >= self.most_calls and self._would_wait(arrival):
            arrival.counts_until = asyncio.get_running_loop().time() + self.bind_wait_seconds
            return binding.NO_NEED_TO_WAIT
        arrival.counts_until = None
        self._calls += 1
        try:
            with self.metrics.requests.barrier_seconds.time():
                return await self._outcome(arrival)
        finally:
            self._calls -= 1

    def check(self, job: JobKey) -> None:
        """Look again whether a gang can be bound, now and at each arrival: some of it was."""
        self._begun.add(job)
        if job in self.arrivals:
            self._ready.add(job)
            self._wake.set()

    async def bind_early(self, job: JobKey, uids: Iterable[Uid]) -> bool:
        """Bind waiting pods before the rest of their gang has come; True if all are bound.

        For parameter servers of which a burst binds the workers.
        """
        snapshot, gang = self.store.snapshot(), self.arrivals.get(job, {})
        self._dismiss(job, snapshot)
        unbound = [uid for uid in uids if uid not in snapshot.bound]
        arrivals = [gang[uid] for uid in unbound if uid in gang and not gang[uid].started]
        if len(arrivals) < len(unbound) or not self.acting():
            return False
        numbers = generation.of_pods(snapshot, (arrival.pod for arrival in arrivals))
        for arrival in arrivals:
            arrival.started = True
            arrival.annotations = binding.annotations(snapshot, arrival.pod, numbers)
        return await self._bind_all(arrivals)

    def waiting(self) -> int:
        """Return how many pods wait for their gang or their Binding."""
        return sum(map(len, self.arrivals.values()))

    async def run(self) -> None:
        """Open the barrier for gangs that are there; returns only by cancellation."""
        async with asyncio.TaskGroup() as bursts:
            while True:
                await self._next()
                self.heartbeat.beat()
                snapshot = self.store.snapshot()
                for job in self._due():
                    self._dismiss(job, snapshot)
                    if burst := self._burst(job, snapshot):
                        bursts.create_task(self._run_burst(job, burst), name=f"burst {job}")

    def _arrive(self, pod: Pod, node: NodeName, snapshot: Snapshot) -> Arrival:
        job = registry.job_key(pod)
        gang = self.arrivals.setdefault(job, {})
        arrival = gang.get(pod.uid)
        if arrival is not None and arrival.node != node and not arrival.started:
            self._finish(arrival, binding.PLAN_CHANGED)
            arrival, gang = None, self.arrivals.setdefault(job, {})
        if arrival is None:
            outcome = asyncio.get_running_loop().create_future()
            gang[pod.uid] = arrival = Arrival(pod, node, outcome)
        reservation = snapshot.reservations.get(pod.uid)
        # A gang's last arrival opens the barrier at once; the ones before it need no check.
        begun = job in self._begun
        if begun or reservation is None or len(gang) >= reservation.plan_size:
            self._ready.add(job)
            self._wake.set()
        return arrival

    def _would_wait(self, arrival: Arrival) -> bool:
        """Return True if the call would be open for long: its Binding is not written soon."""
        return not arrival.started and registry.job_key(arrival.pod) not in self._ready

    async def _outcome(self, arrival: Arrival) -> CallError | None:
        try:
            async with asyncio.timeout(self.bind_wait_seconds):
                return await asyncio.shield(arrival.outcome)
        except TimeoutError:
            if arrival.started:  # its Binding is on the way and ends by its own deadline
                return await asyncio.shield(arrival.outcome)
            self._leave(arrival)
            self.metrics.requests.bind_timeouts.inc()
            return binding.GANG_NOT_THERE

    def _leave(self, arrival: Arrival) -> None:
        job = registry.job_key(arrival.pod)
        gang = self.arrivals.get(job, {})
        if gang.get(arrival.pod.uid) is arrival:
            del gang[arrival.pod.uid]
        if not gang:
            self.arrivals.pop(job, None)

    async def _next(self) -> None:
        try:
            async with asyncio.timeout(CHECK_SECONDS):
                await self._wake.wait()
                self._wake.clear()
        except TimeoutError:
            self._ready.update(self.arrivals)
            self._begun &= self.store.snapshot().waiting

    def _due(self) -> list[JobKey]:
        due = sorted(self._ready & self.arrivals.keys())
        self._ready.clear()
        return due

    def _dismiss(self, job: JobKey, snapshot: Snapshot) -> None:
        now = asyncio.get_running_loop().time()
        for arrival in list(self.arrivals.get(job, {}).values()):
            pod = arrival.pod
            if binding.is_bound(snapshot, pod.uid, arrival.node) and not arrival.started:
                self._finish(arrival, None)  # by a burst, after its call had waited for long
                continue
            error = binding.objection(snapshot, pod.key, pod.uid, arrival.node, self.parameters)
            late = arrival.counts_until is not None and arrival.counts_until < now
            if (error or late) and not arrival.started:
                self._finish(arrival, error or binding.GANG_NOT_THERE)

    def _burst(self, job: JobKey, snapshot: Snapshot) -> binding.Burst | None:
        waiting = {u: a for u, a in self.arrivals.get(job, {}).items() if not a.started}
        if not waiting or not self.acting():
            return None
        pod = next(iter(waiting.values())).pod
        burst = binding.burst(snapshot, pod, waiting.keys(), self.parameters)
        started = [waiting[uid] for uid in (*burst.first, *burst.rest)] if burst else []
        numbers = generation.of_pods(snapshot, (arrival.pod for arrival in started))
        for arrival in started:
            arrival.started = True
            arrival.annotations = binding.annotations(snapshot, arrival.pod, numbers)
        return burst

    async def _run_burst(self, job: JobKey, burst: binding.Burst) -> None:
        gang = self.arrivals[job]
        first = [gang[uid] for uid in burst.first]
        rest = [gang[uid] for uid in burst.rest]
        whole = await self._bind_all(first)
        if whole:
            await self._bind_all(rest)
            return
        for arrival in rest:  # without its ps the gang has no use for workers yet
            self._finish(arrival, binding.GANG_NOT_THERE)

    async def _bind_all(self, arrivals: list[Arrival]) -> bool:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._bind_one(arrival)) for arrival in arrivals]
        return all(task.result() is None for task in tasks)

    async def _bind_one(self, arrival: Arrival) -> CallError | None:
        error = await self.bindings.post(arrival.pod, arrival.node, arrival.annotations)
        self._finish(arrival, error)
        return error

    def _finish(self, arrival: Arrival, error: CallError | None) -> None:
        self._leave(arrival)
        if not arrival.outcome.done():
            arrival.outcome.set_result(error)
