"""Writes of CPU weights, carried out by ``writers.cpu_requests`` alone, and their results."""

from enum import StrEnum

from msgspec import Struct

from shared.model import NodeName, PodKey, Uid


class ResizePod(Struct, frozen=True, tag=True):
    """Change the CPU request of one container of a pod that is still as it was read.

    What was given is written down first, unless it is, and struck out last where it is restored.

    Attributes:
        pod: The pod.
        uid: Precondition.
        resource_version: Precondition.
        container: Whose request.
        from_milli: The request as it was read; equal to ``to_milli`` where only the note must go.
        to_milli: The request afterwards.
        given_milli: What the owner asked for.
        noted: It is written down already.
    """

    pod: PodKey
    uid: Uid
    resource_version: str
    container: str
    from_milli: int
    to_milli: int
    given_milli: int
    noted: bool

    @property
    def restores(self) -> bool:
        """It brings back what was given."""
        return self.to_milli == self.given_milli

    @property
    def raises(self) -> bool:
        """The pod gets more than it had."""
        return self.to_milli > self.from_milli


class ResizeNode(Struct, frozen=True, tag=True):
    """The resizes on one node, in order: those first that give back.

    If one of those fails, no pod gets more: the sum would be above what was given.
    """

    node: NodeName
    pods: tuple[ResizePod, ...]


class Resized(StrEnum):
    """What came of a resize."""

    DONE = "done"
    LATE = "late"
    """The pod has changed, or is gone: nothing is known to be wrong."""
    REFUSED = "refused"
    UNCLEAR = "unclear"
    """Not known: the answer was lost, or the server was in trouble."""


class ResizeResult(Struct, frozen=True):
    """What came of one command."""

    asked: ResizePod
    result: Resized
