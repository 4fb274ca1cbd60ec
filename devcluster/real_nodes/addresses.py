"""Names and addresses of real nodes: one bridge, an address a node, a range a node's pods."""

from dataclasses import dataclass
from typing import Final

BRIDGE: Final = "shuntyard0"
"""There is one a machine, so one cluster with real nodes a machine."""

NETWORK: Final = "198.18.0.0/16"
"""Nodes and pods. The range is for tests of network devices, so nobody's network has it.

Source:
    RFC 2544, section C.2.2, and RFC 6890, table 13.
"""

GATEWAY: Final = "198.18.0.1"
"""This machine, as nodes and pods reach it: API server and extender listen here."""

GATEWAY_CARD: Final = "02:53:59:00:00:01"
"""Without one of its own a bridge has the lowest of its ports, so it would change with the nodes,
and those that are up would look for this machine in vain for half a minute."""

MOST_NODES: Final = 16
_FIRST_HOST: Final = 10


@dataclass(frozen=True, slots=True)
class RealNode:
    """One node and where it is.

    Args:
        name: Of the Node object; also the host name.
        number: From 0, different for every node of the machine.
    """

    name: str
    number: int

    @property
    def address(self) -> str:
        """Its InternalIP."""
        return f"198.18.0.{_FIRST_HOST + self.number}"

    @property
    def card(self) -> str:
        """The address of its network card: the same in every life, as a machine's is."""
        return f"02:53:59:00:01:{self.number:02x}"

    @property
    def pods(self) -> str:
        """The range that its pods' addresses are from."""
        return f"198.18.{1 + self.number}.0/24"

    @property
    def link(self) -> str:
        """The end of its cable at the bridge."""
        return f"{BRIDGE}n{self.number}"
