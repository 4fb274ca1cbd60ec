"""An admitted job's plan, as the annotation ``shuntyard.io/slot-plan`` of its owner."""

from collections.abc import Mapping

import msgspec
from msgspec import Struct

from shared import labels
from shared.errors import InputError
from shared.model import NodeName, Owner

_EXPECTED = "one line of JSON that we wrote"


class Span(Struct, frozen=True, array_like=True):
    """Slots in a row in which the same is planned; node → pods there.

    Attributes:
        first: The first slot, counted since the epoch.
        last: The last one.
        workers: Workers.
        servers: Parameter servers.
    """

    first: int
    last: int
    workers: Mapping[NodeName, int]
    servers: Mapping[NodeName, int] = {}


class SlotPlan(Struct, frozen=True, omit_defaults=True):
    """What an admitted job was promised; slots are counted since the epoch.

    Attributes:
        slot_seconds: Length of the slots it was made for.
        arrival: Slot in which the job came.
        promise: Slot by whose end it was to be done, when it was admitted.
        completion: The same by the present plan.
        utility: What completing then is worth.
        bill: What its resources cost.
        spans: When it runs where, in order; pauses lie between them.
    """

    slot_seconds: float
    arrival: int
    promise: int
    completion: int
    utility: float
    bill: float
    spans: tuple[Span, ...]

    @property
    def payoff(self) -> float:
        """Utility minus bill."""
        return self.utility - self.bill

    def at(self, slot: int) -> Span | None:
        """Return what is planned for a slot; None: nothing runs."""
        return next((span for span in self.spans if span.first <= slot <= span.last), None)

    def workers_at(self, slot: int) -> int:
        """Return how many workers run in a slot."""
        span = self.at(slot)
        return 0 if span is None else sum(span.workers.values())


_DECODER = msgspec.json.Decoder(SlotPlan)


def read(owner: Owner) -> SlotPlan | None:
    """Return what the owner's annotation says; None if it has none.

    Raises:
        InputError: Somebody else has written there.
    """
    found = owner.annotations.get(labels.SLOT_PLAN)
    if found is None:
        return None
    try:
        return _DECODER.decode(found)
    except msgspec.MsgspecError:
        raise InputError(f"annotation {labels.SLOT_PLAN}", found, _EXPECTED) from None


def text(plan: SlotPlan) -> str:
    """Return the annotation."""
    return msgspec.json.encode(plan).decode()
