"""What the balancing rules order: one container goes from one host to another."""

from collections.abc import Callable
from dataclasses import dataclass

from shared.model import NodeName, Uid

Fits = Callable[[Uid, NodeName], bool]
"""Whether the container of this uid could go to this host as the hosts are now.

It knows nothing of the other moves of the same plan: who carries a plan out reserves one move after
the other and leaves out what no longer fits.
"""


@dataclass(frozen=True)
class Move:
    """One container goes to another host.

    Attributes:
        uid: The container's pod.
        source: The host it is on.
        target: The host it goes to; never ``source``.
    """

    uid: Uid
    source: NodeName
    target: NodeName
