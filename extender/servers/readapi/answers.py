"""Answers of the read API: one snapshot for each, computed in threads, never on the event loop.

The state of the loop's own parts (last cycle, standings, price ledger) is taken on the loop; all of
it is frozen. Lists have a thread of their own, and answers for one caller another one, so that a
long what-if delays no list.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Final

from msgspec.structs import replace as changed

from extender.core import explain as core_explain
from extender.core.cluster.session import Reading, Session, States
from extender.core.cluster.snapshot import Snapshot
from extender.core.elastic.state import Ended
from extender.core.explain import Page
from extender.core.parameters.combined import CoreParameters
from extender.core.pricing.outcome import JobStatus
from extender.core.queue.decision import QueueOutcome
from extender.core.queue.forecast import Estimate
from extender.core.records import migration_entries
from extender.core.records.parking import Parking
from extender.servers.readapi import manifests, paging
from extender.servers.readapi.sources import ListCache, NoPricing, PricingState, StartEstimates
from extender.servers.threads import DutyCycle, Threads
from extender.store.source import SnapshotSource
from shared.clock import Clock
from shared.errors import InputError
from shared.model import JobKey, PodKey
from shared.readapi import api
from shared.readapi.ledgers import Declined, ParkingsResponse, RescalesResponse
from shared.readapi.pricing import PricesResponse
from shared.readapi.tenancy import NamespacesResponse

MOST_FRESH_PODS: Final = 2000
"""Up to so many pods a list takes some milliseconds and is computed anew when something changed; of
more it may be a second old."""

Rescales = tuple[Sequence[Ended], Sequence[Declined]]
"""Rescales that have ended, and the jobs that the last pass did not change."""

Parkings = tuple[Sequence[Parking], Sequence[Declined]]
"""Parkings that have ended, and the jobs that the last pass did not park."""


@dataclass(frozen=True)
class ReadAnswers:
    """The answers of the read API.

    Attributes:
        acting: Whether this replica is the leader.
        last_cycle: Returns the last cycle of the queue; None before the first one.
        declined: Jobs that the last pass did not migrate, and why.
        rescale_history: Rescales before each job's last one, and jobs not changed.
        parking_history: The same of parkings.
        pricing: State of admission by price.
        estimates: Start estimates of waiting jobs; None: answers have none.
        states: Returns the latest states of decisions: of training faults.
        what_if_turns: Pauses between what-ifs, each of which plays the queue forward twice.
        lists: Threads for answers that are shared.
        long: Threads for explanations and what-ifs, one at a time.
    """

    store: SnapshotSource
    parameters: CoreParameters
    clock: Clock
    acting: Callable[[], bool]
    last_cycle: Callable[[], QueueOutcome | None]
    declined: Callable[[], Sequence[Declined]] = tuple
    rescale_history: Callable[[], Rescales] = lambda: ((), ())
    parking_history: Callable[[], Parkings] = lambda: ((), ())
    pricing: PricingState = field(default_factory=NoPricing)
    estimates: StartEstimates | None = None
    states: Callable[[], States] = States
    what_if_turns: DutyCycle = field(default_factory=DutyCycle)
    lists: Threads = field(default_factory=lambda: Threads("lists"))
    long: Threads = field(default_factory=lambda: Threads("long"))
    _cache: ListCache = field(default_factory=ListCache)

    def close(self) -> None:
        """Begin no more work; what the threads work on comes to its end."""
        self.lists.close()
        self.long.close()

    def version(self) -> Hashable:
        """Return the version of lists: while it stays the same, an answer may be given again."""
        snapshot = self.store.snapshot()
        is_large = len(snapshot.pods) > MOST_FRESH_PODS
        return None if is_large else (snapshot.generation, id(self.last_cycle()), self.acting())

    async def has_namespace(self, name: str) -> bool:
        """True if a namespace was observed or has a job.

        Where no namespace was observed, every name may be right.
        """
        snapshot = self.store.snapshot()
        if not snapshot.namespaces or name in snapshot.namespaces:
            return True
        jobs, start = snapshot.jobs, f"{name}/"
        return await self.lists.run(lambda: any(key.startswith(start) for key in jobs))

    async def present(self) -> AbstractSet[str]:
        """Return the namespaces of which lists may have entries."""
        snapshot, cycle, standings = self._state()
        (ended, unchanged), (parked, kept) = self.rescale_history(), self.parking_history()
        declined = (*self.declined(), *unchanged, *kept)
        now = self.clock.now()

        def namespaces() -> AbstractSet[str]:
            keys = {*snapshot.jobs, *standings, *(entry.job for entry in declined)}
            keys |= {entry.job.key for entry in cycle.entries} if cycle else set()
            rescales = core_explain.rescale_ledger(snapshot, ended)
            of_migrations = {migration.namespace for migration in snapshot.migrations.values()}
            parkings = core_explain.parking_ledger(snapshot, now, parked)
            of_rescales = {entry.namespace for entry in rescales}
            of_parkings = {entry.namespace for entry in parkings}
            present = {key.partition("/")[0] for key in keys}
            return present | of_migrations | of_rescales | of_parkings

        return await self.lists.run(namespaces)

    async def queue(self, page: Page) -> api.QueueResponse:
        """Return the queue of the last cycle, with start estimates that may be a little older."""
        paging.offset(page)  # refuses what is no position
        cycle = self.last_cycle()
        estimates = await self._estimates(cycle)
        session, standings, acting = self._session(), self.pricing.standings(), self.acting()
        return await self.lists.run(
            lambda: core_explain.queue(
                self._with_cache(session),
                cycle,
                acting=acting,
                estimates=estimates,
                standings=standings,
                page=page,
            )
        )

    async def nodes(self, page: Page) -> api.NodesResponse:
        """Return the nodes with what is free, what is taken, and what it costs."""
        session = self._session()
        return await self.lists.run(lambda: core_explain.nodes(session, page))

    async def jobs(self, page: Page) -> api.JobsResponse:
        """Return our jobs with their state; start estimates may be a little older."""
        cycle = self.last_cycle()
        estimates = await self._estimates(cycle)
        forecasts = core_explain.Forecasts(estimates, self.pricing.standings())
        session = self._session()
        return await self.lists.run(
            lambda: core_explain.all_jobs(
                self._with_cache(session), cycle, forecasts=forecasts, page=page
            )
        )

    async def migrations(self, page: Page) -> api.MigrationsResponse:
        """Return the ledger of migrations."""
        snapshot, declined = self.store.snapshot(), self.declined()
        now, acting = self.clock.now(), self.acting()
        return await self.lists.run(
            lambda: paging.part(
                migration_entries.migrations_response(snapshot, declined, now=now, acting=acting),
                page,
            )
        )

    async def rescales(self, page: Page) -> RescalesResponse:
        """Return the ledger of rescales."""
        session, acting = self._session(), self.acting()
        past, declined = self.rescale_history()

        def answer() -> RescalesResponse:
            entries = core_explain.rescale_ledger(self._with_cache(session).snapshot, past)
            whole = RescalesResponse(
                generated_at=session.now, acting=acting, entries=entries, declined=tuple(declined)
            )
            return paging.part(whole, page)

        return await self.lists.run(answer)

    async def parkings(self, page: Page) -> ParkingsResponse:
        """Return the ledger of parkings."""
        session, acting = self._session(), self.acting()
        past, declined = self.parking_history()

        def answer() -> ParkingsResponse:
            snapshot = self._with_cache(session).snapshot
            whole = ParkingsResponse(
                generated_at=session.now,
                acting=acting,
                entries=core_explain.parking_ledger(snapshot, session.now, past),
                declined=tuple(declined),
            )
            return paging.part(whole, page)

        return await self.lists.run(answer)

    async def namespaces(self, page: Page) -> NamespacesResponse:
        """Return what each namespace holds and may hold."""
        session, cycle, acting = self._session(), self.last_cycle(), self.acting()

        def answer() -> NamespacesResponse:
            whole = core_explain.namespaces(self._with_cache(session), cycle, acting=acting)
            return paging.part(whole, page)

        return await self.lists.run(answer)

    async def prices(self, *, slots: bool) -> PricesResponse:
        """Return what resources cost, with ``slots`` in the slots to come, too."""
        book = self.pricing.book() if slots else ""
        session, acting = self._session(), self.acting()
        answer = await self.lists.run(lambda: core_explain.prices(session, acting=acting))
        if isinstance(book, str):
            return changed(answer, slots_problem=book)
        prices = await self.long.run(lambda: core_explain.slot_prices(book, self.parameters))
        return changed(answer, slots=prices)

    async def explain(self, namespace: str, name: str) -> api.ExplainResponse | None:
        """Explain where a pod is or would be, and why; None if there is no such pod."""
        pod = self.store.snapshot().pods.get(PodKey(f"{namespace}/{name}"))
        if pod is None:
            return None
        return await self._explained(lambda session: core_explain.pod(session, pod))

    async def explain_job(self, namespace: str, name: str, kind: str) -> api.ExplainResponse | None:
        """Explain why a job waits, and what would make it run; None if there is no such job."""
        snapshot = self.store.snapshot()
        keys = await self.lists.run(lambda: core_explain.named(snapshot, namespace, name, kind))
        if len(keys) > 1:
            kinds = " or ".join(key.split("/")[1] for key in keys)
            raise InputError("query parameter kind", kind, f"{kinds}: there is a job of each")
        if keys and core_explain.is_known(self.store.snapshot(), keys[0]):
            return await self._explained(lambda session: core_explain.job(session, keys[0]))
        session_of, ledgers = self._explain_session(snapshot), self._ledgers()

        def answer(check: Callable[[], None]) -> api.ExplainResponse | None:
            session = session_of(check)
            return core_explain.paused(namespace, name, kind, session, ledgers(session.snapshot))

        return await self.long.run_cancellable(answer)

    async def what_if(self, body: bytes, namespace: str) -> api.WhatIfResponse:
        """Return what would become of the job of a manifest; nothing is written anywhere.

        Args:
            body: The manifest, JSON.
            namespace: Namespace of objects that state none.

        Raises:
            InputError: It cannot be read, or no pods could be made of it; names the field.
        """
        async with self.what_if_turns.turn(self.clock):
            session_of, acting = self._explain_session(self.store.snapshot()), self.acting()
            book, past = self.pricing.book(), self.pricing.history()
            ledger = None if isinstance(book, str) else book

            def answer(check: Callable[[], None]) -> api.WhatIfResponse:
                job = manifests.read(body, namespace, self.parameters.scheduler_name)
                return core_explain.what_if(
                    session_of(check), job, acting=acting, book=ledger, history=past
                )

            return await self.long.run_cancellable(answer)

    async def namespaces_of(self, body: bytes, namespace: str) -> manifests.Namespaces:
        """Return the namespaces of a manifest; raises as ``what_if``."""
        return await self.long.run(lambda: manifests.namespaces(body, namespace))

    async def _explained(
        self, explain: Callable[[core_explain.ExplainSession], api.ExplainResponse]
    ) -> api.ExplainResponse:
        """Run an explanation in a thread: kube-scheduler must not wait for it."""
        estimates = await self._estimates(self.last_cycle())
        session_of = self._explain_session(self.store.snapshot())
        ledgers = self._ledgers(estimates)

        def answer(check: Callable[[], None]) -> api.ExplainResponse:
            session = session_of(check)
            return core_explain.with_ledgers(explain(session), session, ledgers(session.snapshot))

        return await self.long.run_cancellable(answer)

    async def _estimates(self, cycle: QueueOutcome | None) -> Mapping[JobKey, Estimate]:
        return {} if self.estimates is None else await self.estimates.of(cycle)

    def _ledgers(
        self, estimates: Mapping[JobKey, Estimate] = MappingProxyType({})
    ) -> Callable[[Snapshot], core_explain.Ledgers]:
        book, (past, declined) = self.pricing.book(), self.rescale_history()
        (parked, _), now = self.parking_history(), self.clock.now()
        standings, history = self.pricing.standings(), self.pricing.history()
        return lambda snapshot: core_explain.Ledgers(
            standings=standings,
            book=None if isinstance(book, str) else book,
            history=history,
            rescales=core_explain.rescale_ledger(snapshot, past),
            parkings=core_explain.parking_ledger(snapshot, now, parked),
            declined=declined,
            estimates=estimates,
        )

    def _explain_session(
        self, snapshot: Snapshot
    ) -> Callable[[Callable[[], None]], core_explain.ExplainSession]:
        """Return a function that builds the session in its thread, from the state of now."""
        session, cycle = self._session(snapshot), self.last_cycle()
        return lambda check: core_explain.isolated(session, cycle, check)

    def _state(self) -> tuple[Snapshot, QueueOutcome | None, Mapping[JobKey, JobStatus]]:
        return self.store.snapshot(), self.last_cycle(), self.pricing.standings()

    def _session(self, snapshot: Snapshot | None = None) -> Session:
        """Return the present state of the cluster, or the given one, with the time."""
        reading = Reading(now=self.clock.now(), monotonic=self.clock.monotonic())
        return Session(snapshot or self.store.snapshot(), reading, self.parameters, self.states())

    def _with_cache(self, session: Session) -> Session:
        """Return a session with the cache of the lists' thread; for that thread only."""
        snapshot = replace(session.snapshot, cache=self._cache.of(session.snapshot))
        return replace(session, snapshot=snapshot)
