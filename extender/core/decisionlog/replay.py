"""Replay of recorded decisions, the same for every decision of the registry.

A decision is one line, or two if the store may change during it: ``<name>-begins`` has its input,
``<name>-ends`` its output.
"""

import hashlib
from collections.abc import Mapping
from typing import Any, Final

import msgspec
from msgspec import UNSET, Struct, UnsetType

from extender.core.cluster.session import Decision, Outcome, Reading, Session, States
from extender.core.cluster.snapshot import Snapshot
from extender.core.decisionlog.registry import DECISIONS
from extender.core.parameters.combined import CoreParameters

BEGINS: Final = "-begins"
ENDS: Final = "-ends"


class DecisionInput(Struct, frozen=True, omit_defaults=True):
    """The input of a decision besides the snapshot.

    ``state`` and ``others`` (the states that it reads, by name) are in the first record of a
    segment and after every start; the following records continue from the state that the last one
    left.
    """

    reading: Reading
    trigger: Any
    state: Any | UnsetType = UNSET
    others: Mapping[str, Any] | UnsetType = UNSET


class Replayer:
    """Repeats recorded decisions; carries their states from one record to the next."""

    def __init__(
        self,
        parameters: CoreParameters,
        decisions: Mapping[str, Decision[Any, Any, Any]] = DECISIONS,
    ) -> None:
        self._parameters = parameters
        self._decisions = decisions
        self._states: dict[str, Any] = {}
        self._begun: dict[str, object] = {}

    def decide(self, snapshot: Snapshot, kind: str, given: Any) -> Any:
        """Return the output of one recorded decision.

        Raises:
            ValueError: There is no decision of this kind.
        """
        name = kind.removesuffix(BEGINS).removesuffix(ENDS)
        decision = self._decisions.get(name)
        if decision is None:
            raise ValueError(f"decision of unknown kind {kind!r}")
        if kind.endswith(ENDS):
            return self._begun.pop(name, None)
        output = self._decided(snapshot, decision, msgspec.convert(given, DecisionInput))
        if kind.endswith(BEGINS):
            self._begun[name] = output
            return None
        return output

    def _decided(
        self, snapshot: Snapshot, decision: Decision[Any, Any, Any], given: DecisionInput
    ) -> object:
        if given.state is not UNSET:
            self._states[decision.name] = msgspec.convert(given.state, decision.state_type)
        if given.others is not UNSET:
            for other in decision.reads:
                kept = given.others[other.name]
                self._states[other.name] = msgspec.convert(kept, other.state_type)
        states = States(self._states).read_by(decision)
        session = Session(snapshot, given.reading, self._parameters, states)
        state = self._states.get(decision.name)
        state = decision.first_state() if state is None else state
        trigger = decision.expanded(snapshot, msgspec.convert(given.trigger, decision.trigger_type))
        outcome: Outcome[Any, Any] = decision.decide(session, state, trigger)
        self._states[decision.name] = outcome.state
        shortened = decision.shortened(snapshot, trigger, outcome)
        return decision.summary(snapshot, shortened, outcome)


def parameters_hash(parameters: CoreParameters) -> str:
    """Return a digest of all parameters: a log replays only with the parameters that wrote it."""
    return hashlib.sha256(msgspec.json.encode(parameters)).hexdigest()[:16]
