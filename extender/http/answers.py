"""The answers behind the handlers: one snapshot a request, the engine decides, the log records."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from msgspec.structs import replace

from extender.engine import explaining, filtering, prioritizing
from extender.engine.admission.history import History
from extender.engine.admission.outcome import Book, Standing
from extender.engine.binding import STANDBY
from extender.engine.direct import Occasion
from extender.engine.filtering import WITHOUT_SEATS, FilterVerdict
from extender.engine.memory import Reading
from extender.engine.migration import accounting
from extender.engine.parameters import EngineParameters
from extender.engine.queueing import Cycle
from extender.engine.reporting import Freshness
from extender.engine.scaling.following import Ended
from extender.engine.snapshot import Snapshot
from extender.http import manifests
from extender.http.foresight import Foresight
from extender.http.rest import Rest
from extender.metrics.extender import ExtenderMetrics, Passed
from extender.state.store import ClusterStore
from shared import api
from shared.clock import Clock
from shared.errors import InputError
from shared.ledger import Declined
from shared.model import JobKey, Pod, PodKey
from shared.prices import PricesResponse
from shared.rescales import RescalesResponse
from shared.tenancy import NamespacesResponse

_Subject = TypeVar("_Subject")

Rescales = tuple[Sequence[Ended], Sequence[Declined]]
"""Changes of workers that have ended, and the jobs that were not changed when looked at last."""


class Witness(Protocol):
    """Keeps decisions for replay."""

    def filtered(
        self, pod: Pod, nodes: Sequence[str], verdict: FilterVerdict, occasion: Occasion
    ) -> None:
        """Keep one answer to filter."""
        ...

    def prioritized(
        self, pod: Pod, nodes: Sequence[str], scores: Sequence[tuple[str, int]]
    ) -> None:
        """Keep one answer to prioritize."""
        ...


class Desk(Protocol):
    """Knows the queue, and keeps the seats that filter gives to direct gangs."""

    def waits(self, pod: Pod) -> bool:
        """Say whether the pod was refused before, and nothing has changed for it since."""
        ...

    def occasion(self, pod: Pod) -> Occasion:
        """Return what filter must know of the queue."""
        ...

    def take_over(self, pod: Pod, verdict: FilterVerdict) -> None:
        """Act on what filter answered."""
        ...


class Offers(Protocol):
    """Knows admission by price."""

    def standings(self) -> Mapping[JobKey, Standing]:
        """Return how jobs with a utility stand."""
        ...

    def book(self) -> Book | str:
        """Return what is promised over the slots, or in words why that is not known."""
        ...

    def history(self) -> History:
        """Return what past jobs taught."""
        ...


class NoOffers:
    """No job is admitted by price."""

    def standings(self) -> Mapping[JobKey, Standing]:
        """Return nothing."""
        return {}

    def book(self) -> Book | str:
        """Return why there is none."""
        return explaining.NOT_BY_PRICE

    def history(self) -> History:
        """Return nothing."""
        return History()


@dataclass(frozen=True)
class SchedulerAnswers:
    """What kube-scheduler is told.

    Attributes:
        acting: Whether this replica decides now.
        desk: Knows the queue, and keeps the seats that filter gives to direct gangs.
        barrier: Binds a pod together with its gang.
        witness: Keeps what was answered, for the decision log.
        metrics: Counts pods of other schedulers, which are passed through.
    """

    store: ClusterStore
    parameters: EngineParameters
    acting: Callable[[], bool]
    desk: Desk
    barrier: Callable[[str, str, str, str], Awaitable[str]]
    witness: Witness
    metrics: ExtenderMetrics

    def filter(self, pod: Pod, node_names: Sequence[str]) -> FilterVerdict:
        """Judge the offered nodes; a replica that does not act answers with an error.

        A refusal that is repeated is no new decision: it is neither decided nor recorded again.
        """
        if not self.acting():
            return FilterVerdict(error=STANDBY)
        if pod.scheduler_name != self.parameters.scheduler_name:
            self.metrics.passed.labels(verb=Passed.FILTER.value).inc()
        if self.desk.waits(pod):
            return WITHOUT_SEATS
        occasion = self.desk.occasion(pod)
        snapshot = self.store.snapshot()
        verdict = filtering.filter_nodes(snapshot, pod, node_names, self.parameters, occasion)
        self.witness.filtered(pod, node_names, verdict, occasion)
        self.desk.take_over(pod, verdict)
        return verdict

    def prioritize(self, pod: Pod, node_names: Sequence[str]) -> Sequence[tuple[str, int]]:
        """Score the nodes that are left, 0 to 10."""
        scores = prioritizing.scores(self.store.snapshot(), pod, node_names, self.parameters)
        self.witness.prioritized(pod, node_names, scores)
        return scores

    async def bind(self, namespace: str, name: str, uid: str, node: str) -> str:
        """Bind; "" or the error's text."""
        return await self.barrier(namespace, name, uid, node)


@dataclass(frozen=True)
class ReadAnswers:
    """What people are told by the read API.

    Attributes:
        declined: Jobs that were not moved when they were looked at last, and why.
        rescales_known: Changes of workers beyond each job's last one, and jobs not changed.
        offers: Knows admission by price.
        busy: Held while an explanation or a what-if is worked out.
        foresight: Knows when waiting jobs start; None: nobody is told.
        rest: Between two what-ifs, of which each plays the queue forward twice.
    """

    store: ClusterStore
    parameters: EngineParameters
    clock: Clock
    acting: Callable[[], bool]
    last_cycle: Callable[[], Cycle | None]
    declined: Callable[[], Sequence[Declined]] = tuple
    rescales_known: Callable[[], Rescales] = lambda: ((), ())
    offers: Offers = field(default_factory=NoOffers)
    busy: asyncio.Lock = field(default_factory=asyncio.Lock)
    foresight: Foresight | None = None
    rest: Rest = field(default_factory=Rest)

    def has_namespace(self, name: str) -> bool:
        """Whether there is such a namespace: one that was observed, or that has a job.

        Where no namespace was observed, nothing is known of them, and every name may be right.
        """
        snapshot = self.store.snapshot()
        known = snapshot.namespaces
        return not known or name in known or any(k.startswith(f"{name}/") for k in snapshot.jobs)

    async def queue(self) -> api.QueueResponse:
        """The queue as the last cycle saw it, with start estimates that may be a little older."""
        cycle, now, acting = self.last_cycle(), self.clock.now(), self.acting()
        estimates = {} if self.foresight is None else await self.foresight.of(cycle)
        return explaining.queue(
            cycle,
            self.parameters,
            now=now,
            acting=acting,
            estimates=estimates,
            bargains=explaining.Bargains(self.store.snapshot(), self.offers.standings(), now),
        )

    def nodes(self) -> api.NodesResponse:
        """Nodes with what is free, taken, and what they cost."""
        snapshot = self.store.snapshot()
        fresh = self._freshness()
        return explaining.nodes(snapshot, self.parameters, fresh, now=self.clock.now())

    def jobs(self) -> api.JobsResponse:
        """All jobs of ours with their members by state."""
        snapshot = self.store.snapshot()
        now, standings, cycle = self.clock.now(), self.offers.standings(), self.last_cycle()
        memory = cycle.memory if cycle else None
        return explaining.all_jobs(
            snapshot, self._freshness(), now=now, standings=standings, memory=memory
        )

    def migrations(self) -> api.MigrationsResponse:
        """The ledger of migrations."""
        now, acting = self.clock.now(), self.acting()
        return accounting.ledger(self.store.snapshot(), self.declined(), now=now, acting=acting)

    def rescales(self) -> RescalesResponse:
        """The ledger of rescales."""
        past, declined = self.rescales_known()
        return RescalesResponse(
            generated_at=self.clock.now(),
            acting=self.acting(),
            entries=explaining.ledger(self.store.snapshot(), past),
            declined=tuple(declined),
        )

    def namespaces(self) -> NamespacesResponse:
        """What each namespace holds and may hold."""
        snapshot, cycle, now = self.store.snapshot(), self.last_cycle(), self.clock.now()
        return explaining.namespaces(
            snapshot, cycle, self.parameters, now=now, acting=self.acting()
        )

    async def prices(self, *, slots: bool) -> PricesResponse:
        """What resources cost; the slots are worked out beside the loop."""
        book = self.offers.book() if slots else ""
        now, acting, snapshot = self.clock.now(), self.acting(), self.store.snapshot()
        told = explaining.prices(snapshot, self.parameters, now=now, acting=acting)
        if isinstance(book, str):
            return replace(told, slots_problem=book)
        async with self.busy:
            found = await asyncio.to_thread(explaining.slot_prices, book, self.parameters)
        return replace(told, slots=found)

    async def explain(self, namespace: str, name: str) -> api.ExplainResponse | None:
        """Why a pod is, or would be, where; None if there is no such pod."""
        asked = self._asked()
        pod = asked.snapshot.pods.get(PodKey(f"{namespace}/{name}"))
        return None if pod is None else await self._worked_out(explaining.pod, asked, pod)

    async def explain_job(self, namespace: str, name: str, kind: str) -> api.ExplainResponse | None:
        """Why a job waits, and what would make it run; None if there is no such job."""
        asked = self._asked()
        found = explaining.named(asked.snapshot, namespace, name, kind)
        if len(found) > 1:
            kinds = " or ".join(key.split("/")[1] for key in found)
            raise InputError("query parameter kind", kind, f"{kinds}: there is a job of each")
        if found:
            return await self._worked_out(explaining.job, asked, found[0])
        return explaining.paused(namespace, name, kind, asked, self._bargaining(asked.snapshot))

    async def what_if(self, body: bytes, namespace: str) -> api.WhatIfResponse:
        """What would become of a job; the store hears nothing of it."""
        async with self.rest.turn(self.clock), self.busy:
            asked, acting = self._asked(), self.acting()
            book, past = self.offers.book(), self.offers.history()
            known = None if isinstance(book, str) else book

            def answer() -> api.WhatIfResponse:
                job = manifests.read(body, namespace, self.parameters.scheduler_name)
                return explaining.what_if(asked, job, acting=acting, book=known, history=past)

            return await asyncio.to_thread(answer)

    async def _worked_out(
        self,
        explain: Callable[[explaining.Asked, _Subject], api.ExplainResponse],
        asked: explaining.Asked,
        subject: _Subject,
    ) -> api.ExplainResponse:
        """Explain beside the loop, one at a time: kube-scheduler must not wait for it."""
        known = self._bargaining(asked.snapshot)

        def answer() -> api.ExplainResponse:
            return explaining.more(explain(asked, subject), asked, known)

        async with self.busy:
            return await asyncio.to_thread(answer)

    def _bargaining(self, snapshot: Snapshot) -> explaining.Bargaining:
        book, (past, declined) = self.offers.book(), self.rescales_known()
        return explaining.Bargaining(
            standings=self.offers.standings(),
            book=None if isinstance(book, str) else book,
            history=self.offers.history(),
            rescales=explaining.ledger(snapshot, past),
            declined=declined,
        )

    def _asked(self) -> explaining.Asked:
        reading = Reading(now=self.clock.now(), monotonic=self.clock.monotonic())
        return explaining.asked(self.store.snapshot(), self.parameters, self.last_cycle(), reading)

    def _freshness(self) -> Freshness:
        return Freshness(self.clock.monotonic(), self.parameters.migration.stale_seconds)
