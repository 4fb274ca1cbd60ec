"""The observed cluster and every way to write to it: what controllers and servers share."""

import random
import socket
import uuid
from functools import cached_property

from extender.app.context import Context, segments
from extender.controllers.base import ChangeNotifier, DecisionContext
from extender.controllers.observe.observer import Observer
from extender.core.decisionlog.replay import parameters_hash
from extender.core.parameters.combined import CoreParameters
from extender.settings.extender import ExtenderSettings
from extender.settings.policy import core_parameters
from extender.store.store import ClusterStore
from extender.writers.bindings import Bindings
from extender.writers.decision_log.recorder import Recorder
from extender.writers.events import EventWriter
from extender.writers.execute import Executor
from extender.writers.leader_writer import LeaderWriter
from extender.writers.leadership import Leadership
from extender.writers.owners import OwnerWriter
from shared.kube.lease import LeaseObserver
from shared.kube.lease_holding import LeaseCandidate, LeaseTerms
from shared.kube.resources import OPTIONAL


class ClusterAccess:
    """Store, watches, leadership and writers of one process; each is built when it is first used.

    Args:
        settings: All settings.
        context: Services that every part uses.
    """

    def __init__(self, settings: ExtenderSettings, context: Context) -> None:
        self._settings = settings
        self._context = context
        self.changed = ChangeNotifier()
        self.identity = settings.scheduler.identity or socket.gethostname()

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
            changed=self.changed,
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
        own = LeaseCandidate(f"{self.identity}_{uuid.uuid4()}", terms)
        return Leadership(
            client=self._context.client,
            lease_name=(section.namespace, section.name),
            identity=self.identity,
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
        return EventWriter(context.client, context.clock, context.metrics, beat, self.identity)

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
    def bindings(self) -> Bindings:
        """Posts Bindings, with as many writers as releases have."""
        shared = (self.writer, self.recorder, self._context.metrics)
        return Bindings(*shared, self.executor.parallelism)
