"""Recorded decisions, decided again: what the log keeps of each, and how it is recomputed."""

import hashlib
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct

from extender.core.cluster.session import Reading
from extender.core.cluster.snapshot import Snapshot
from extender.core.cpu_shares import decision as cpu_shares_decision
from extender.core.cpu_shares.decision import ResizeLook, ResizeOccasion
from extender.core.cpu_shares.state import ResizeMemory
from extender.core.decisionlog import abridged
from extender.core.elastic import decision as elastic_decision
from extender.core.elastic.decision import RescaleLook, RescaleOccasion
from extender.core.elastic.state import RescaleMemory
from extender.core.migration import decision as migration_decision
from extender.core.migration.decision import Look, MigrationMemory, Occasion
from extender.core.parameters.combined import CoreParameters
from extender.core.pricing import decision, history_text
from extender.core.pricing.history import History
from extender.core.pricing.outcome import AdmissionLook, AdmissionMemory
from extender.core.queue import decision as queue_decision
from extender.core.queue.decision import Cycle
from extender.core.queue.state import Priced, QueueState, price, refuse, turn_away
from extender.core.scheduler import direct_gangs, filtering, prioritizing
from extender.core.scheduler.filtering import FilterVerdict
from shared.model import JobKey, NodeName, Pod, Uid


class CycleInput(Struct, frozen=True):
    """What a cycle was given beside the snapshot.

    ``memory`` is what it started from, without what the others say. It stands in the first cycle of
    a segment and after every start; in between each cycle goes on with what the one before left.
    """

    reading: Reading
    refusals: tuple[tuple[Uid, NodeName], ...]
    memory: QueueState | None
    turned_away: tuple[JobKey, ...] = ()
    priced: Mapping[JobKey, Priced] | None = None


class RequestInput(Struct, frozen=True, omit_defaults=True):
    """What filter and prioritize were given beside the snapshot; ``occasion``: filter alone.

    ``nodes`` are abridged (``engine.abridging``).
    """

    pod: Pod
    nodes: tuple[str, ...]
    occasion: direct_gangs.Occasion = direct_gangs.NEVER


class LookInput(Struct, frozen=True):
    """What a look at migrations was given beside the snapshot; ``memory`` as in ``CycleInput``."""

    occasion: Occasion
    memory: MigrationMemory | None


class ResizeInput(Struct, frozen=True):
    """What a look at CPU requests was given beside the snapshot; ``memory`` as above."""

    occasion: ResizeOccasion
    memory: ResizeMemory | None


class RescaleInput(Struct, frozen=True):
    """What a look at changes of workers was given beside the snapshot.

    ``memory`` as above; ``queue``, which the last cycle left, stands where ``memory`` does.
    """

    occasion: RescaleOccasion
    memory: RescaleMemory | None
    queue: QueueState | None


class AdmissionInput(Struct, frozen=True):
    """What a look at admission was given beside the snapshot; the last two as ``memory`` above."""

    reading: Reading
    memory: AdmissionMemory | None
    history: History | None


def digest(value: Any) -> str:
    """Return what is kept of a value that is too long to be kept whole."""
    return hashlib.sha256(msgspec.json.encode(value)).hexdigest()


def cycle_output(cycle: Cycle) -> dict[str, Any]:
    """Return what is kept of a cycle: its commands, and a digest of queue and reasons."""
    queue = [(entry.job.key, entry.value.v, entry.reason, entry.message) for entry in cycle.entries]
    return {"commands": cycle.commands, "queue": digest(queue)}


def look_output(look: Look) -> dict[str, Any]:
    """Return what is kept of a look: its commands, and why jobs were not moved."""
    declined = {job: why.reason for job, why in sorted(look.memory.declined.items())}
    return {"commands": look.commands, "declined": declined}


def resize_output(look: ResizeLook) -> dict[str, Any]:
    """Return what is kept of a look at CPU requests: its commands."""
    return {"commands": look.commands}


def rescale_output(look: RescaleLook) -> dict[str, Any]:
    """Return what is kept of a look at changes of workers: what it orders, and why not more."""
    declined = {job: why.reason for job, why in sorted(look.memory.declined.items())}
    return {"commands": look.commands, "marks": look.marks, "declined": declined}


def admission_output(look: AdmissionLook) -> dict[str, Any]:
    """Return what is kept of a look at admission: its commands, and how every job stands."""
    stand = {job: (one.reason, one.payoff) for job, one in sorted(look.standings.items())}
    return {"commands": look.commands, "standings": stand}


def verdict_output(
    verdict: FilterVerdict, snapshot: Snapshot, asked: RequestInput, count: int
) -> dict[str, Any]:
    """Return what is kept of an answer to filter: of a plan a digest, the seats stand behind it.

    ``count`` is how many nodes were offered.
    """
    grant = verdict.grant
    said: dict[str, Any] = {
        **abridged.verdict(verdict, snapshot.room.index, asked.nodes, count),
        "nowhere": verdict.nowhere,
        "not_offered": verdict.not_offered,
    }
    if grant is not None:
        plan = digest((grant.given, grant.open_seats))
        said["grant"] = {"job": grant.job, "node": grant.node, "taken": grant.taken, "plan": plan}
    return said


class Replayer:
    """Decides again what a log says was decided; carries memories from one to the next."""

    def __init__(self, params: CoreParameters) -> None:
        self._params = params
        self._memory = QueueState()
        self._begun: Cycle | None = None
        self._moves = MigrationMemory()
        self._weights = ResizeMemory()
        self._rescales = RescaleMemory()
        self._offers = AdmissionMemory()
        self._history = History()
        self._admission: AdmissionLook | None = None

    def decide(self, snapshot: Snapshot, kind: str, given: Any) -> Any:
        """Return the output of one recorded decision.

        Raises:
            ValueError: The kind of decision is not known.
        """
        if kind in {"cycle", "cycle-begins", "cycle-ends"}:
            return self._cycle(snapshot, kind, given)
        if kind == "migrate":
            return self._look(snapshot, msgspec.convert(given, LookInput))
        if kind == "resize":
            return self._resize(snapshot, msgspec.convert(given, ResizeInput))
        if kind == "rescale":
            return self._rescale(snapshot, msgspec.convert(given, RescaleInput))
        if kind in {"admission-begins", "admission"}:
            return self._admit(snapshot, kind, given)
        if kind in {"filter", "prioritize"}:
            return self._answer(snapshot, kind, msgspec.convert(given, RequestInput))
        raise ValueError(f"decision of unknown kind {kind!r}")

    def _admit(self, snapshot: Snapshot, kind: str, given: Any) -> dict[str, Any] | None:
        """Decide on the snapshot of the first line; the second one says what came out."""
        if kind == "admission":
            return None if self._admission is None else admission_output(self._admission)
        asked = msgspec.convert(given, AdmissionInput)
        memory = self._offers if asked.memory is None else asked.memory
        history = self._history if asked.history is None else asked.history
        look = decision.look(snapshot, asked.reading, self._params, history, memory)
        self._admission, self._offers = look, look.memory
        self._history = history_text.grown(history, look)
        return None

    def _answer(self, snapshot: Snapshot, kind: str, asked: RequestInput) -> dict[str, Any]:
        names = abridged.in_full(asked.nodes, snapshot.room.index)
        if kind == "prioritize":
            return abridged.scores(prioritizing.scores(snapshot, asked.pod, names, self._params))
        verdict = filtering.filter_nodes(snapshot, asked.pod, names, self._params, asked.occasion)
        return verdict_output(verdict, snapshot, asked, len(names))

    def _cycle(self, snapshot: Snapshot, kind: str, given: Any) -> dict[str, Any] | None:
        """Decide at once what is given at once; else on the first line what the last one says."""
        if kind != "cycle-ends":
            self._begun = self._decided(snapshot, msgspec.convert(given, CycleInput))
        begun = self._begun
        if begun is None or kind == "cycle-begins":
            return None
        self._memory, self._begun = begun.memory, None
        return cycle_output(begun)

    def _decided(self, snapshot: Snapshot, given: CycleInput) -> Cycle:
        memory = self._memory if given.memory is None else given.memory
        memory = turn_away(refuse(memory, given.refusals), given.turned_away)
        memory = price(memory, given.priced)
        return queue_decision.cycle(snapshot, memory, given.reading, self._params)

    def _look(self, snapshot: Snapshot, given: LookInput) -> dict[str, Any]:
        memory = self._moves if given.memory is None else given.memory
        look = migration_decision.look(snapshot, memory, given.occasion, self._params.migration)
        self._moves = look.memory
        return look_output(look)

    def _resize(self, snapshot: Snapshot, given: ResizeInput) -> dict[str, Any]:
        memory = self._weights if given.memory is None else given.memory
        look = cpu_shares_decision.look(snapshot, memory, given.occasion, self._params)
        self._weights = look.memory
        return resize_output(look)

    def _rescale(self, snapshot: Snapshot, given: RescaleInput) -> dict[str, Any]:
        memory = self._rescales if given.memory is None else given.memory
        self._memory = self._memory if given.queue is None else given.queue
        look = elastic_decision.look(snapshot, self._memory, memory, given.occasion, self._params)
        self._rescales = look.memory
        return rescale_output(look)


def parameters_hash(params: CoreParameters) -> str:
    """Return a digest of all parameters: a log replays only with the parameters that wrote it."""
    return hashlib.sha256(msgspec.json.encode(params)).hexdigest()[:16]
