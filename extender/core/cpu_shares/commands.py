"""Writes of CPU weights, carried out by ``writers.cpu_requests`` alone, and their results."""

from enum import StrEnum

from msgspec import Struct

from shared.model import NodeName, PodKey, Uid


class ResizePod(Struct, frozen=True, tag=True):
    """Change the CPU request of one container of a pod that is still as it was read.

    The original request is noted on the pod first, and the note removed last when it is restored.

    Attributes:
        pod: The pod.
        uid: Precondition.
        resource_version: Precondition.
        container: The container whose request changes.
        from_milli: The request as it was read; equal to ``to_milli`` if only the note is removed.
        to_milli: The request afterwards.
        given_milli: The request that the owner gave.
        noted: The pod has the note already.
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
        """True if it restores the owner's request."""
        return self.to_milli == self.given_milli

    @property
    def raises(self) -> bool:
        """True if the pod gets more than it had."""
        return self.to_milli > self.from_milli


class ResizeNode(Struct, frozen=True, tag=True):
    """The resizes on one node, in order: those that lower a request first.

    If one of those fails, no pod gets more: the sum would exceed what the owners gave.
    """

    node: NodeName
    pods: tuple[ResizePod, ...]


class Resized(StrEnum):
    """Outcome of a resize."""

    DONE = "done"
    LATE = "late"
    """The pod has changed, or is gone; no error."""
    REFUSED = "refused"
    UNCLEAR = "unclear"
    """Unknown: the answer was lost, or the server failed."""


class ResizeResult(Struct, frozen=True):
    """Outcome of one command."""

    asked: ResizePod
    result: Resized
