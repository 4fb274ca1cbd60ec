"""Composition root: every part of the extender, built from the settings and connected by name."""

import random
import socket
import uuid
from collections.abc import Sequence
from functools import cached_property

from extender.app import listeners
from extender.app.context import Context, segments
from extender.app.listeners import Certificates, Listener
from extender.app.measuring import measuring
from extender.app.optional_loops import optional_loops
from extender.app.parts import Loop, Parts
from extender.controllers.base import ChangeNotifier, DecisionContext
from extender.controllers.bursts import Bursts
from extender.controllers.checkpoint_notes import CheckpointNotesController
from extender.controllers.cpu_shares import CpuSharesController
from extender.controllers.elastic import ElasticController
from extender.controllers.hold import HoldPermit
from extender.controllers.migration import MigrationController
from extender.controllers.node_loss import NodeLossController
from extender.controllers.observe.observer import Observer
from extender.controllers.preemption import PreemptionController
from extender.controllers.pricing import PricingController
from extender.controllers.queue import QueueController
from extender.controllers.starts import StartsLoop
from extender.controllers.training_faults import TrainingFaultsController
from extender.core.decisionlog.replay import parameters_hash
from extender.core.parameters.combined import CoreParameters
from extender.metrics.listeners import ListenerName
from extender.servers.readapi.answers import ReadAnswers
from extender.servers.readapi.sources import StartEstimates
from extender.servers.scheduler.barrier import CALLS_SHARE, BindBarrier
from extender.servers.scheduler.verbs import LiveDirectGangs, SchedulerAnswers
from extender.settings.extender import ExtenderSettings
from extender.settings.policy import core_parameters
from extender.store.store import ClusterStore
from extender.writers.bindings import Bindings
from extender.writers.cpu_requests import RequestWriter
from extender.writers.decision_log.recorder import Recorder
from extender.writers.drain_budgets import DrainBudgetWriter
from extender.writers.events import EventWriter
from extender.writers.evictions import EvictionWriter
from extender.writers.execute import Executor
from extender.writers.history import HistoryKeeper
from extender.writers.leader_writer import LeaderWriter
from extender.writers.leadership import Leadership
from extender.writers.migrations import MigrationWriter
from extender.writers.owners import OwnerWriter
from shared.kube.lease import LeaseObserver
from shared.kube.lease_holding import LeaseCandidate, LeaseTerms
from shared.kube.resources import OPTIONAL


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
        self._changed = ChangeNotifier()
        self._identity = settings.scheduler.identity or socket.gethostname()

    def parts(self, beside: Sequence[Loop] = ()) -> Parts:
        """Return all parts, connected; nothing runs yet.

        Args:
            beside: Loops that exist already.
        """
        self._context.health.conditions = {"synced": lambda: self.observer.synced}
        return Parts(
            loops=(*self._loops(), *beside, *self._optional_loops()),
            listeners=tuple(self._listeners()),
            farewell=self.cpu_shares.farewell,
            release=self.leadership.release,
        )

    def leads(self) -> bool:
        """Return True if this replica decides now: it leads, and has observed the cluster."""
        return self.observer.synced and self.leadership.acting()

    @cached_property
    def parameters(self) -> CoreParameters:
        """Parameters of all decisions."""
        return core_parameters(self._settings, self._settings.scheduler.scheduler_name)

    @cached_property
    def recorder(self) -> Recorder:
        """The only writer of the store, and the decision log."""
        return Recorder(
            ClusterStore(self._settings.scheduler.scheduler_name),
            clock=self._context.clock,
            metrics=self._context.metrics,
            heartbeat=self._context.beat("record"),
            files=segments(self._settings),
            parameters_hash=parameters_hash(self.parameters),
            signatures=self._context.signatures,
        )

    @cached_property
    def observer(self) -> Observer:
        """The watches that feed the store."""
        return Observer(
            client=self._context.client,
            recorder=self.recorder,
            clock=self._context.clock,
            metrics=self._context.metrics,
            heartbeat=self._context.beat("observe"),
            changed=self._changed,
            rng=random.Random(),  # noqa: S311 - jitter of back-offs, nothing secret
            kinds=tuple(k for k in OPTIONAL if k.resource in self._settings.kinds.read),
        )

    @cached_property
    def leadership(self) -> Leadership:
        """Leadership, by kube-scheduler's Lease or by one of our own."""
        section = self._settings.lease
        terms = LeaseTerms(
            section.retry_seconds, section.renew_deadline_seconds, section.duration_seconds
        )
        own = LeaseCandidate(f"{self._identity}_{uuid.uuid4()}", terms)
        return Leadership(
            client=self._context.client,
            lease_name=(section.namespace, section.name),
            identity=self._identity,
            clock=self._context.clock,
            metrics=self._context.metrics,
            changed=self.observer.changed,
            out_of_touch=self.observer.distrust,
            observer=own if section.hold else LeaseObserver(),
        )

    @cached_property
    def writer(self) -> LeaderWriter:
        """The client for API writes; refuses them while this replica does not lead."""
        return LeaderWriter(self._context.client, self.leads)

    @cached_property
    def decisions(self) -> DecisionContext:
        """Services and parameters that all controllers share."""
        return DecisionContext(
            recorder=self.recorder,
            parameters=self.parameters,
            clock=self._context.clock,
            leads=self.leads,
            metrics=self._context.metrics,
        )

    @cached_property
    def events(self) -> EventWriter:
        """Writes pod conditions and Events in the background."""
        context = self._context
        beat = context.beat("tell")
        return EventWriter(context.client, context.clock, context.metrics, beat, self._identity)

    @cached_property
    def executor(self) -> Executor:
        """Carries out the queue's commands."""
        return Executor(
            client=self.writer,
            recorder=self.recorder,
            events=self.events,
            metrics=self._context.metrics,
            parallelism=self._settings.gang.bind_parallelism,
        )

    @cached_property
    def owner_writer(self) -> OwnerWriter:
        """Changes owners: numbers of workers, suspension, annotations."""
        return OwnerWriter(self.writer, self.recorder, self.events, self._context.clock)

    @cached_property
    def queue(self) -> QueueController:
        """Starts waiting jobs."""
        gang = self._settings.gang
        return QueueController(
            context=self.decisions,
            heartbeat=self._context.beat("schedule"),
            executor=self.executor,
            owners=self.owner_writer,
            changed=self._changed,
            settle_seconds=self._settings.queue.settle_seconds,
            interval_seconds=self._settings.queue.interval_seconds,
            permit=HoldPermit(self._context.clock, gang.burst_hold_seconds, gang.burst_gated),
        )

    @cached_property
    def migration(self) -> MigrationController:
        """Moves jobs; without the Migration resource it does nothing."""
        context = self._context
        return MigrationController(
            context=self.decisions,
            heartbeat=context.beat("migrate"),
            mover=MigrationWriter(self.writer, self.recorder, self.events, context.metrics),
            installed=lambda: self.observer.has_migrations,
            changed=self._changed.follower(),
            interval_seconds=self._settings.migration.interval_seconds,
        )

    @cached_property
    def elastic(self) -> ElasticController:
        """Changes numbers of workers."""
        return ElasticController(
            context=self.decisions,
            heartbeat=self._context.beat("rescale"),
            writer=self.owner_writer,
            changed=self._changed.follower(),
            interval_seconds=self._settings.scaling.interval_seconds,
        )

    @cached_property
    def preemption(self) -> PreemptionController:
        """Parks jobs, and ends their suspension."""
        return PreemptionController(
            context=self.decisions,
            heartbeat=self._context.beat("park"),
            writer=self.owner_writer,
            events=self.events,
            budgets=DrainBudgetWriter(self.writer, self.recorder, self._context.clock),
            evictions=EvictionWriter(self.writer, self.recorder, self._context.clock),
            changed=self._changed.follower(),
            interval_seconds=self._settings.preemption.interval_seconds,
        )

    @cached_property
    def cpu_shares(self) -> CpuSharesController:
        """Changes CPU requests, with as many writers as releases have."""
        context, parallelism = self._context, self.executor.parallelism
        return CpuSharesController(
            context=self.decisions,
            heartbeat=context.beat("resize"),
            writer=RequestWriter(self.writer, context.metrics, parallelism),
            interval_seconds=self._settings.cpu_weights.interval_seconds,
            restore_seconds=self._settings.cpu_weights.restore_seconds,
        )

    @cached_property
    def pricing(self) -> PricingController:
        """Admits jobs by price."""
        namespace = self._settings.admission.history_namespace
        return PricingController(
            context=self.decisions,
            heartbeat=self._context.beat("admission"),
            writer=self.owner_writer,
            keeper=HistoryKeeper(self.writer, namespace, self._context.clock),
            changed=self._changed.follower(),
            notify=self._changed.set,
            price=self.queue.price,
        )

    @cached_property
    def training_faults(self) -> TrainingFaultsController:
        """Finds training that hangs or has diverged."""
        return TrainingFaultsController(
            context=self.decisions,
            heartbeat=self._context.beat("training-faults"),
            executor=self.executor,
            owners=self.owner_writer,
            interval_seconds=self._settings.training_faults.interval_seconds,
        )

    @cached_property
    def checkpoint_notes(self) -> CheckpointNotesController:
        """Notes last checkpoints on pods."""
        return CheckpointNotesController(
            context=self.decisions,
            heartbeat=self._context.beat("checkpoint-notes"),
            owners=self.owner_writer,
            interval_seconds=self._settings.checkpoint_notes.interval_seconds,
        )

    @cached_property
    def node_loss(self) -> NodeLossController:
        """Deletes pods of fenced nodes by force."""
        return NodeLossController(
            context=self.decisions,
            heartbeat=self._context.beat("node-loss"),
            executor=self.executor,
            interval_seconds=self._settings.lost_nodes.interval_seconds,
        )

    @cached_property
    def barrier(self) -> BindBarrier:
        """Binds a gang when all its members have arrived."""
        most_calls = listeners.most_of(ListenerName.SCHEDULER, self._settings.scheduler)
        return BindBarrier(
            store=self.recorder.store,
            bindings=self.bindings,
            parameters=self.parameters,
            acting=self.leads,
            metrics=self._context.metrics,
            heartbeat=self._context.beat("bind"),
            bind_wait_seconds=self._settings.gang.bind_wait_seconds,
            most_calls=int(CALLS_SHARE * most_calls),
        )

    @cached_property
    def bursts(self) -> Bursts:
        """Binds other pods while kube-scheduler waits for an answer."""
        return Bursts(
            context=self.decisions,
            queue=self.queue,
            bindings=self.bindings,
            barrier=self.barrier,
            events=self.events,
            heartbeat=self._context.beat("burst"),
            event_per_pod=self._settings.gang.burst_event_per_pod,
        )

    @cached_property
    def bindings(self) -> Bindings:
        """Posts Bindings, with as many writers as releases have."""
        shared = (self.writer, self.recorder, self._context.metrics)
        return Bindings(*shared, self.executor.parallelism)

    @cached_property
    def estimates(self) -> StartEstimates:
        """Start estimates."""
        return StartEstimates(self.recorder.store, self.parameters, self._context.clock)

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
        store, clock = self.recorder.store, self._context.clock
        return ReadAnswers(
            store=store,
            parameters=self.parameters,
            clock=clock,
            acting=self.leads,
            last_cycle=lambda: self.queue.last,
            declined=self.migration.declined,
            rescale_history=self.elastic.ledger,
            parking_history=self.preemption.ledger,
            pricing=self.pricing,
            estimates=self.estimates,
            states=self.decisions.states,
        )

    def _loops(self) -> tuple[Loop, ...]:
        agents = ListenerName.AGENTS in self._certificates
        measures = (self.recorder.store, self.parameters, self._context, self.barrier.waiting)
        measured = measuring(*measures, agents=agents)
        shell = (self.observer, self.leadership, self.recorder, self.barrier)
        binding = (self.bursts, self.events)
        decisions = (self.queue, self.migration, self.cpu_shares, self.elastic, self.pricing)
        others = (self.training_faults, self.checkpoint_notes, self.preemption, self.node_loss)
        return (*shell, *binding, *decisions, *others, *measured, self.starts)

    def _listeners(self) -> list[Listener]:
        settings, context, certificates = self._settings, self._context, self._certificates
        gangs = LiveDirectGangs(self.recorder, self.queue)
        answers = SchedulerAnswers(self.decisions, gangs, self.barrier.bind, self.bursts)
        forwarding = listeners.forwarding_to_leader(
            settings.peers, self.leadership, self.leads, tls=ListenerName.API in certificates
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
                    settings.agents, self.observer, self.leads, context, certificates
                )
            )
        return opened

    def _optional_loops(self) -> list[Loop]:
        return optional_loops(
            self._settings, self._context, self.writer, self.queue, identity=self._identity
        )

    async def _read_lease(self) -> None:
        """Read the Lease before kube-scheduler is answered, if this replica does not lead."""
        if self.observer.synced:
            await self.leadership.read_now()
