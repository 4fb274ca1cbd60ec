"""Recorded decisions, decided again: what the log keeps of each, and how it is recomputed."""

import hashlib
from dataclasses import asdict
from typing import Any

import msgspec
from msgspec import Struct

from extender.engine import filtering, prioritizing, queueing
from extender.engine.filtering import FilterVerdict
from extender.engine.memory import Memory, Reading, refuse
from extender.engine.parameters import EngineParameters
from extender.engine.queueing import Cycle
from extender.engine.snapshot import Snapshot
from shared.model import NodeName, Pod, Uid


class CycleInput(Struct, frozen=True):
    """What a cycle was given beside the snapshot.

    ``memory`` stands in the first cycle of a segment and after every start; in between each cycle
    goes on with what the one before left.
    """

    reading: Reading
    refusals: tuple[tuple[Uid, NodeName], ...]
    memory: Memory | None


class RequestInput(Struct, frozen=True):
    """What filter and prioritize were given beside the snapshot."""

    pod: Pod
    nodes: tuple[str, ...]


def cycle_output(cycle: Cycle) -> dict[str, Any]:
    """Return what is kept of a cycle: its commands, and a digest of queue and reasons."""
    queue = [(entry.job.key, entry.value.v, entry.reason, entry.message) for entry in cycle.entries]
    digest = hashlib.sha256(msgspec.json.encode(queue)).hexdigest()
    return {"commands": cycle.commands, "queue": digest}


def verdict_output(verdict: FilterVerdict) -> dict[str, Any]:
    """Return what is kept of an answer to filter."""
    return asdict(verdict)


class Replayer:
    """Decides again what a log says was decided; carries the memory from cycle to cycle."""

    def __init__(self, params: EngineParameters) -> None:
        self._params = params
        self._memory = Memory()

    def decide(self, snapshot: Snapshot, kind: str, given: Any) -> Any:
        """Return the output of one recorded decision.

        Raises:
            ValueError: The kind of decision is not known.
        """
        if kind == "cycle":
            return self._cycle(snapshot, msgspec.convert(given, CycleInput))
        request = msgspec.convert(given, RequestInput)
        if kind == "filter":
            name = self._params.scheduler_name
            return verdict_output(
                filtering.filter_nodes(snapshot, request.pod, request.nodes, name)
            )
        if kind == "prioritize":
            return prioritizing.scores(snapshot, request.pod, request.nodes, self._params)
        raise ValueError(f"decision of unknown kind {kind!r}")

    def _cycle(self, snapshot: Snapshot, given: CycleInput) -> dict[str, Any]:
        memory = self._memory if given.memory is None else given.memory
        cycle = queueing.cycle(
            snapshot, refuse(memory, given.refusals), given.reading, self._params
        )
        self._memory = cycle.memory
        return cycle_output(cycle)


def parameters_hash(params: EngineParameters) -> str:
    """Return a digest of all parameters: a log replays only with the parameters that wrote it."""
    return hashlib.sha256(msgspec.json.encode(params)).hexdigest()[:16]
