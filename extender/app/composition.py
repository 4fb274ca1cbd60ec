"""Composition root: every part of the extender, built from the settings and connected by name."""

from collections.abc import Sequence
from functools import cached_property

from extender.app import listeners
from extender.app.cluster_access import ClusterAccess
from extender.app.context import Context
from extender.app.listeners import Certificates, Listener
from extender.app.measuring import measuring
from extender.app.optional_loops import optional_loops
from extender.app.parts import Loop, Parts
from extender.controllers.bursts import Bursts
from extender.controllers.checkpoint_notes import CheckpointNotesController
from extender.controllers.cpu_shares import CpuSharesController
from extender.controllers.elastic import ElasticController
from extender.controllers.hold import HoldPermit
from extender.controllers.migration import MigrationController
from extender.controllers.node_loss import NodeLossController
from extender.controllers.preemption import PreemptionController
from extender.controllers.pricing import PricingController
from extender.controllers.queue import QueueController
from extender.controllers.starts import StartsLoop
from extender.controllers.training_faults import TrainingFaultsController
from extender.metrics.listeners import ListenerName
from extender.servers.readapi.answers import ReadAnswers
from extender.servers.readapi.sources import StartEstimates
from extender.servers.scheduler.barrier import CALLS_SHARE, BindBarrier
from extender.servers.scheduler.verbs import LiveDirectGangs, SchedulerAnswers
from extender.settings.extender import ExtenderSettings
from extender.writers.cpu_requests import RequestWriter
from extender.writers.drain_budgets import DrainBudgetWriter
from extender.writers.evictions import EvictionWriter
from extender.writers.history import HistoryKeeper
from extender.writers.migrations import MigrationWriter


class Composition:
    """All parts of one process; each is built once, when it is first used.

    Args:
        settings: All settings.
        context: Services that every part uses.
        certificates: The listeners' certificates; without one for agents there is no such listener.
    """

    def __init__(
        self, settings: ExtenderSettings, context: Context, certificates: Certificates
    ) -> None:
        self._settings = settings
        self._context = context
        self._certificates = certificates
        self._cluster = ClusterAccess(settings, context)

    def parts(self, beside: Sequence[Loop] = ()) -> Parts:
        """Return all parts, connected; nothing runs yet.

        Args:
            beside: Loops that exist already.
        """
        self._context.health.conditions = {"synced": lambda: self._cluster.observer.synced}
        return Parts(
            loops=(*self._loops(), *beside, *self._optional_loops()),
            listeners=tuple(self._listeners()),
            farewell=self.cpu_shares.farewell,
            release=self._cluster.leadership.release,
        )

    @cached_property
    def queue(self) -> QueueController:
        """Starts waiting jobs."""
        gang = self._settings.gang
        return QueueController(
            context=self._cluster.decisions,
            heartbeat=self._context.beat("schedule"),
            executor=self._cluster.executor,
            owners=self._cluster.owner_writer,
            changed=self._cluster.changed,
            settle_seconds=self._settings.queue.settle_seconds,
            interval_seconds=self._settings.queue.interval_seconds,
            permit=HoldPermit(self._context.clock, gang.burst_hold_seconds, gang.burst_gated),
        )

    @cached_property
    def migration(self) -> MigrationController:
        """Moves jobs; without the Migration resource it does nothing."""
        context = self._context
        return MigrationController(
            context=self._cluster.decisions,
            heartbeat=context.beat("migrate"),
            mover=MigrationWriter(
                self._cluster.writer, self._cluster.recorder, self._cluster.events, context.metrics
            ),
            installed=lambda: self._cluster.observer.has_migrations,
            changed=self._cluster.changed.follower(),
            interval_seconds=self._settings.migration.interval_seconds,
        )

    @cached_property
    def elastic(self) -> ElasticController:
        """Changes numbers of workers."""
        return ElasticController(
            context=self._cluster.decisions,
            heartbeat=self._context.beat("rescale"),
            writer=self._cluster.owner_writer,
            changed=self._cluster.changed.follower(),
            interval_seconds=self._settings.scaling.interval_seconds,
        )

    @cached_property
    def preemption(self) -> PreemptionController:
        """Parks jobs, and ends their suspension."""
        return PreemptionController(
            context=self._cluster.decisions,
            heartbeat=self._context.beat("park"),
            writer=self._cluster.owner_writer,
            events=self._cluster.events,
            budgets=DrainBudgetWriter(
                self._cluster.writer, self._cluster.recorder, self._context.clock
            ),
            evictions=EvictionWriter(
                self._cluster.writer, self._cluster.recorder, self._context.clock
            ),
            changed=self._cluster.changed.follower(),
            interval_seconds=self._settings.preemption.interval_seconds,
        )

    @cached_property
    def cpu_shares(self) -> CpuSharesController:
        """Changes CPU requests, with as many writers as releases have."""
        context, parallelism = self._context, self._cluster.executor.parallelism
        return CpuSharesController(
            context=self._cluster.decisions,
            heartbeat=context.beat("resize"),
            writer=RequestWriter(self._cluster.writer, context.metrics, parallelism),
            interval_seconds=self._settings.cpu_weights.interval_seconds,
            restore_seconds=self._settings.cpu_weights.restore_seconds,
        )

    @cached_property
    def pricing(self) -> PricingController:
        """Admits jobs by price."""
        namespace = self._settings.admission.history_namespace
        return PricingController(
            context=self._cluster.decisions,
            heartbeat=self._context.beat("admission"),
            writer=self._cluster.owner_writer,
            keeper=HistoryKeeper(self._cluster.writer, namespace, self._context.clock),
            changed=self._cluster.changed.follower(),
            notify=self._cluster.changed.set,
            price=self.queue.price,
        )

    @cached_property
    def training_faults(self) -> TrainingFaultsController:
        """Finds training that hangs or has diverged."""
        return TrainingFaultsController(
            context=self._cluster.decisions,
            heartbeat=self._context.beat("training-faults"),
            executor=self._cluster.executor,
            owners=self._cluster.owner_writer,
            interval_seconds=self._settings.training_faults.interval_seconds,
        )

    @cached_property
    def checkpoint_notes(self) -> CheckpointNotesController:
        """Notes last checkpoints on pods."""
        return CheckpointNotesController(
            context=self._cluster.decisions,
            heartbeat=self._context.beat("checkpoint-notes"),
            owners=self._cluster.owner_writer,
            interval_seconds=self._settings.checkpoint_notes.interval_seconds,
        )

    @cached_property
    def node_loss(self) -> NodeLossController:
        """Deletes pods of fenced nodes by force."""
        return NodeLossController(
            context=self._cluster.decisions,
            heartbeat=self._context.beat("node-loss"),
            executor=self._cluster.executor,
            interval_seconds=self._settings.lost_nodes.interval_seconds,
        )

    @cached_property
    def barrier(self) -> BindBarrier:
        """Binds a gang when all its members have arrived."""
        most_calls = listeners.most_of(ListenerName.SCHEDULER, self._settings.scheduler)
        return BindBarrier(
            store=self._cluster.recorder.store,
            bindings=self._cluster.bindings,
            parameters=self._cluster.parameters,
            acting=self._cluster.leads,
            metrics=self._context.metrics,
            heartbeat=self._context.beat("bind"),
            bind_wait_seconds=self._settings.gang.bind_wait_seconds,
            most_calls=int(CALLS_SHARE * most_calls),
        )

    @cached_property
    def bursts(self) -> Bursts:
        """Binds other pods while kube-scheduler waits for an answer."""
        return Bursts(
            context=self._cluster.decisions,
            queue=self.queue,
            bindings=self._cluster.bindings,
            barrier=self.barrier,
            events=self._cluster.events,
            heartbeat=self._context.beat("burst"),
            event_per_pod=self._settings.gang.burst_event_per_pod,
        )

    @cached_property
    def estimates(self) -> StartEstimates:
        """Start estimates."""
        return StartEstimates(
            self._cluster.recorder.store, self._cluster.parameters, self._context.clock
        )

    @cached_property
    def starts(self) -> StartsLoop:
        """Judges them."""
        context = self._context
        return StartsLoop(
            last_cycle=lambda: self.queue.last,
            estimates=self.estimates.of,
            clock=context.clock,
            metrics=context.metrics.starts,
            heartbeat=context.beat("starts"),
        )

    @cached_property
    def reads(self) -> ReadAnswers:
        """Answers of the read API."""
        store, clock = self._cluster.recorder.store, self._context.clock
        return ReadAnswers(
            store=store,
            parameters=self._cluster.parameters,
            clock=clock,
            acting=self._cluster.leads,
            last_cycle=lambda: self.queue.last,
            declined=self.migration.declined,
            rescale_history=self.elastic.ledger,
            parking_history=self.preemption.ledger,
            pricing=self.pricing,
            estimates=self.estimates,
            states=self._cluster.decisions.states,
        )

    def _loops(self) -> tuple[Loop, ...]:
        agents = ListenerName.AGENTS in self._certificates
        measures = (
            self._cluster.recorder.store,
            self._cluster.parameters,
            self._context,
            self.barrier.waiting,
        )
        measured = measuring(*measures, agents=agents)
        shell = (
            self._cluster.observer,
            self._cluster.leadership,
            self._cluster.recorder,
            self.barrier,
        )
        binding = (self.bursts, self._cluster.events)
        decisions = (self.queue, self.migration, self.cpu_shares, self.elastic, self.pricing)
        others = (self.training_faults, self.checkpoint_notes, self.preemption, self.node_loss)
        return (*shell, *binding, *decisions, *others, *measured, self.starts)

    def _listeners(self) -> list[Listener]:
        settings, context, certificates = self._settings, self._context, self._certificates
        gangs = LiveDirectGangs(self._cluster.recorder, self.queue)
        answers = SchedulerAnswers(self._cluster.decisions, gangs, self.barrier.bind, self.bursts)
        forwarding = listeners.forwarding_to_leader(
            settings.peers,
            self._cluster.leadership,
            self._cluster.leads,
            tls=ListenerName.API in certificates,
        )
        opened = [
            listeners.for_scheduler(
                settings.scheduler, answers, self._read_lease, context, certificates
            ),
            listeners.for_read_api(settings.api, self.reads, context, certificates, forwarding),
        ]
        if ListenerName.AGENTS in certificates:
            opened.append(
                listeners.for_agents(
                    settings.agents,
                    self._cluster.observer,
                    self._cluster.leads,
                    context,
                    certificates,
                )
            )
        return opened

    def _optional_loops(self) -> list[Loop]:
        return optional_loops(
            self._settings,
            self._context,
            self._cluster.writer,
            self.queue,
            identity=self._cluster.identity,
        )

    async def _read_lease(self) -> None:
        """Read the Lease before kube-scheduler is answered, if this replica does not lead."""
        if self._cluster.observer.synced:
            await self._cluster.leadership.read_now()
