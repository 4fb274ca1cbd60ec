"""What people are told: one snapshot a question, worked out in threads, never on the event loop.

What the loop's own parts know (the last cycle, standings, the book) is taken on the loop; all of it
is frozen. Lists have a thread of their own, and what is worked out for one caller another one, so
that a long what-if delays no list.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from typing import Final, Protocol

from msgspec.structs import replace as changed

from extender.core import explain as core_explain
from extender.core.cluster.cache import Cache
from extender.core.cluster.job_views import VIEWS
from extender.core.cluster.session import Reading, Session
from extender.core.cluster.snapshot import Snapshot
from extender.core.elastic.state import Ended
from extender.core.explain import Page
from extender.core.parameters.combined import CoreParameters
from extender.core.pricing.history import History
from extender.core.pricing.outcome import JobStatus, PriceLedger
from extender.core.queue.decision import QueueOutcome
from extender.core.records import migration_entries
from extender.servers.readapi import manifests, paging
from extender.servers.readapi.forecasts import Foresight
from extender.servers.readapi.rest import Rest
from extender.servers.readapi.threads import Threads
from extender.store.source import SnapshotSource
from shared import api
from shared.clock import Clock
from shared.errors import InputError
from shared.ledgers import Declined, RescalesResponse
from shared.model import JobKey, PodKey
from shared.pricing import PricesResponse
from shared.tenancy import NamespacesResponse

MOST_FRESH_PODS: Final = 2000
"""Up to so many pods a list takes some milliseconds, and is made anew when something has changed;
of more it may be a second old."""

Rescales = tuple[Sequence[Ended], Sequence[Declined]]
"""Changes of workers that have ended, and the jobs that were not changed when looked at last."""


class Offers(Protocol):
    """Knows admission by price."""

    def standings(self) -> Mapping[JobKey, JobStatus]:
        """Return how jobs with a utility stand."""
        ...

    def book(self) -> PriceLedger | str:
        """Return what is promised over the slots, or in words why that is not known."""
        ...

    def history(self) -> History:
        """Return what past jobs taught."""
        ...


class NoOffers:
    """No job is admitted by price."""

    def standings(self) -> Mapping[JobKey, JobStatus]:
        """Return nothing."""
        return {}

    def book(self) -> PriceLedger | str:
        """Return why there is none."""
        return core_explain.NOT_BY_PRICE

    def history(self) -> History:
        """Return nothing."""
        return History()


class ListCache:
    """What the lists' thread keeps of jobs between two pages, beside what the loop knows."""

    def __init__(self) -> None:
        self._cache = Cache()
        self._below: Cache | None = None

    def of(self, snapshot: Snapshot) -> Cache:
        """Return it for a snapshot; jobs that are gone are dropped once they are many."""
        if self._below is not snapshot.cache:
            self._below, self._cache = snapshot.cache, snapshot.cache.beside()
        self._cache.of(VIEWS).trim(snapshot.jobs.keys())
        return self._cache


@dataclass(frozen=True)
class ReadAnswers:
    """What people are told by the read API.

    Attributes:
        declined: Jobs that were not moved when they were looked at last, and why.
        rescales_known: Changes of workers beyond each job's last one, and jobs not changed.
        offers: Knows admission by price.
        foresight: Knows when waiting jobs start; None: nobody is told.
        rest: Between two what-ifs, of which each plays the queue forward twice.
        lists: Work out what many are told.
        long: Work out explanations and what-ifs, one at a time.
    """

    store: SnapshotSource
    parameters: CoreParameters
    clock: Clock
    acting: Callable[[], bool]
    last_cycle: Callable[[], QueueOutcome | None]
    declined: Callable[[], Sequence[Declined]] = tuple
    rescales_known: Callable[[], Rescales] = lambda: ((), ())
    offers: Offers = field(default_factory=NoOffers)
    foresight: Foresight | None = None
    rest: Rest = field(default_factory=Rest)
    lists: Threads = field(default_factory=lambda: Threads("lists"))
    long: Threads = field(default_factory=lambda: Threads("long"))
    _cache: ListCache = field(default_factory=ListCache)

    def close(self) -> None:
        """Begin nothing more; what is worked out now comes to its end."""
        self.lists.close()
        self.long.close()

    def version(self) -> Hashable:
        """What lists are as of: the same as long as the answer before may be told again."""
        snapshot = self.store.snapshot()
        is_large = len(snapshot.pods) > MOST_FRESH_PODS
        return None if is_large else (snapshot.generation, id(self.last_cycle()), self.acting())

    async def has_namespace(self, name: str) -> bool:
        """Whether there is such a namespace: one that was observed, or that has a job.

        Where no namespace was observed, nothing is known of them, and every name may be right.
        """
        snapshot = self.store.snapshot()
        if not snapshot.namespaces or name in snapshot.namespaces:
            return True
        jobs, start = snapshot.jobs, f"{name}/"
        return await self.lists.run(lambda: any(key.startswith(start) for key in jobs))

    async def present(self) -> AbstractSet[str]:
        """The namespaces that lists may speak of."""
        snapshot, cycle, standings = self._seen()
        ended, unchanged = self.rescales_known()
        declined = (*self.declined(), *unchanged)

        def found() -> AbstractSet[str]:
            keys = {*snapshot.jobs, *standings, *(one.job for one in declined)}
            keys |= {entry.job.key for entry in cycle.entries} if cycle else set()
            of_moves = {one.namespace for one in snapshot.migrations.values()}
            of_rescales = {one.namespace for one in core_explain.rescale_ledger(snapshot, ended)}
            return {key.partition("/")[0] for key in keys} | of_moves | of_rescales

        return await self.lists.run(found)

    async def queue(self, page: Page) -> api.QueueResponse:
        """The queue as the last cycle saw it, with start estimates that may be a little older."""
        paging.offset(page)  # a position, or it is refused
        known = self.last_cycle()
        estimates = {} if self.foresight is None else await self.foresight.of(known)
        session, standings, acting = self._session(), self.offers.standings(), self.acting()
        return await self.lists.run(
            lambda: core_explain.queue(
                self._with_cache(session),
                known,
                acting=acting,
                estimates=estimates,
                standings=standings,
                page=page,
            )
        )

    async def nodes(self, page: Page) -> api.NodesResponse:
        """Nodes with what is free, taken, and what they cost."""
        session = self._session()
        return await self.lists.run(lambda: core_explain.nodes(session, page))

    async def jobs(self, page: Page) -> api.JobsResponse:
        """Jobs of ours with their members by state."""
        session, cycle, standings = self._session(), self.last_cycle(), self.offers.standings()
        return await self.lists.run(
            lambda: core_explain.all_jobs(
                self._with_cache(session), cycle, standings=standings, page=page
            )
        )

    async def migrations(self, page: Page) -> api.MigrationsResponse:
        """The ledger of migrations."""
        snapshot, declined = self.store.snapshot(), self.declined()
        now, acting = self.clock.now(), self.acting()
        return await self.lists.run(
            lambda: paging.part(
                migration_entries.migrations_response(snapshot, declined, now=now, acting=acting),
                page,
            )
        )

    async def rescales(self, page: Page) -> RescalesResponse:
        """The ledger of rescales."""
        session, acting = self._session(), self.acting()
        past, declined = self.rescales_known()

        def answer() -> RescalesResponse:
            told = core_explain.rescale_ledger(self._with_cache(session).snapshot, past)
            whole = RescalesResponse(
                generated_at=session.now, acting=acting, entries=told, declined=tuple(declined)
            )
            return paging.part(whole, page)

        return await self.lists.run(answer)

    async def namespaces(self, page: Page) -> NamespacesResponse:
        """What each namespace holds and may hold."""
        session, cycle, acting = self._session(), self.last_cycle(), self.acting()

        def answer() -> NamespacesResponse:
            whole = core_explain.namespaces(self._with_cache(session), cycle, acting=acting)
            return paging.part(whole, page)

        return await self.lists.run(answer)

    async def prices(self, *, slots: bool) -> PricesResponse:
        """What resources cost."""
        book = self.offers.book() if slots else ""
        session, acting = self._session(), self.acting()
        told = await self.lists.run(lambda: core_explain.prices(session, acting=acting))
        if isinstance(book, str):
            return changed(told, slots_problem=book)
        found = await self.long.run(lambda: core_explain.slot_prices(book, self.parameters))
        return changed(told, slots=found)

    async def explain(self, namespace: str, name: str) -> api.ExplainResponse | None:
        """Why a pod is, or would be, where; None if there is no such pod."""
        pod = self.store.snapshot().pods.get(PodKey(f"{namespace}/{name}"))
        if pod is None:
            return None
        return await self._worked_out(lambda asked: core_explain.pod(asked, pod))

    async def explain_job(self, namespace: str, name: str, kind: str) -> api.ExplainResponse | None:
        """Why a job waits, and what would make it run; None if there is no such job."""
        snapshot = self.store.snapshot()
        found = await self.lists.run(
            lambda: core_explain.jobs_named(snapshot, namespace, name, kind)
        )
        if len(found) > 1:
            kinds = " or ".join(key.split("/")[1] for key in found)
            raise InputError("query parameter kind", kind, f"{kinds}: there is a job of each")
        if found and found[0] in self.store.snapshot().jobs:
            return await self._worked_out(lambda asked: core_explain.job(asked, found[0]))
        permitted, ledgers = self._explain_session(snapshot), self._ledgers()

        def answer(check: Callable[[], None]) -> api.ExplainResponse | None:
            asked = permitted(check)
            return core_explain.paused(namespace, name, kind, asked, ledgers(asked.snapshot))

        return await self.long.run_while_wanted(answer)

    async def what_if(self, body: bytes, namespace: str) -> api.WhatIfResponse:
        """Return what would become of the job of a manifest; nothing is written anywhere.

        Args:
            body: The manifest, JSON.
            namespace: Where it goes if it does not say so.

        Raises:
            InputError: It cannot be read, or no pods could be made of it; names the field.
        """
        async with self.rest.turn(self.clock):
            asked, acting = self._explain_session(self.store.snapshot()), self.acting()
            book, past = self.offers.book(), self.offers.history()
            known = None if isinstance(book, str) else book

            def answer(check: Callable[[], None]) -> api.WhatIfResponse:
                job = manifests.read(body, namespace, self.parameters.scheduler_name)
                return core_explain.what_if(
                    asked(check), job, acting=acting, book=known, history=past
                )

            return await self.long.run_while_wanted(answer)

    async def namespaces_of(self, body: bytes, namespace: str) -> manifests.Namespaces:
        """Return the namespaces of a manifest; raises as ``what_if``."""
        return await self.long.run(lambda: manifests.namespaces(body, namespace))

    async def _worked_out(
        self, explain: Callable[[core_explain.ExplainSession], api.ExplainResponse]
    ) -> api.ExplainResponse:
        """Explain beside the loop, one at a time: kube-scheduler must not wait for it."""
        permitted, ledgers = self._explain_session(self.store.snapshot()), self._ledgers()

        def answer(check: Callable[[], None]) -> api.ExplainResponse:
            asked = permitted(check)
            return core_explain.with_ledgers(explain(asked), asked, ledgers(asked.snapshot))

        return await self.long.run_while_wanted(answer)

    def _ledgers(self) -> Callable[[Snapshot], core_explain.Ledgers]:
        book, (past, declined) = self.offers.book(), self.rescales_known()
        standings, history = self.offers.standings(), self.offers.history()
        return lambda snapshot: core_explain.Ledgers(
            standings=standings,
            book=None if isinstance(book, str) else book,
            history=history,
            rescales=core_explain.rescale_ledger(snapshot, past),
            declined=declined,
        )

    def _explain_session(
        self, snapshot: Snapshot
    ) -> Callable[[Callable[[], None]], core_explain.ExplainSession]:
        """Return what makes the question in its thread, out of what is known now."""
        session, cycle = self._session(snapshot), self.last_cycle()
        return lambda check: core_explain.isolated(session, cycle, check)

    def _seen(self) -> tuple[Snapshot, QueueOutcome | None, Mapping[JobKey, JobStatus]]:
        return self.store.snapshot(), self.last_cycle(), self.offers.standings()

    def _session(self, snapshot: Snapshot | None = None) -> Session:
        """Return the present state of the cluster, or the given one, with the time."""
        reading = Reading(now=self.clock.now(), monotonic=self.clock.monotonic())
        return Session(snapshot or self.store.snapshot(), reading, self.parameters)

    def _with_cache(self, session: Session) -> Session:
        """Return it with the cache of the lists' thread; call it in that thread only."""
        snapshot = replace(session.snapshot, cache=self._cache.of(session.snapshot))
        return replace(session, snapshot=snapshot)
