"""The bridge of real nodes, their cables and their addresses.

The bridge has its owner, the cluster's directory, in its alias: so the claim ends with the bridge,
and no file can be outdated.
"""

import contextlib
import ipaddress
import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from devcluster.errors import MachineError
from devcluster.real_nodes.commands import run

BRIDGE: Final = "shuntyard0"
"""One per machine, so one cluster with real nodes per machine."""
NETWORK: Final = "198.18.0.0/16"
"""Nodes and pods. The range is reserved for benchmarks of network devices.

Source:
    RFC 2544, section C.2.2, and RFC 6890, table 13.
"""
GATEWAY: Final = "198.18.0.1"
"""This machine, as nodes and pods reach it: API server and extender listen here."""
GATEWAY_CARD: Final = "02:53:59:00:00:01"
"""Fixed, because a bridge otherwise takes the lowest address of its ports, which changes with the
nodes and makes this machine unreachable for half a minute."""
MOST_NODES: Final = 16
_FIRST_HOST: Final = 10


@dataclass(frozen=True, slots=True)
class RealNode:
    """One node and its addresses.

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
        """The MAC address of its network card: the same after each start, like a machine's."""
        return f"02:53:59:00:01:{self.number:02x}"

    @property
    def pods(self) -> str:
        """The range that its pods' addresses are from."""
        return f"198.18.{1 + self.number}.0/24"

    @property
    def link(self) -> str:
        """The end of its cable at the bridge."""
        return f"{BRIDGE}n{self.number}"


_LINKS: Final = Path("/sys/class/net")
_LONGEST_ALIAS: Final = 255
_FORWARDING: Final = Path(f"/proc/sys/net/ipv4/conf/{BRIDGE}/forwarding")
_ALIAS_SECONDS: Final = 1.0
_POLL_SECONDS: Final = 0.02


def owner() -> str | None:
    """Return the directory of the cluster that has the bridge; None without a bridge."""
    alias = _LINKS / BRIDGE / "ifalias"
    deadline = time.monotonic() + _ALIAS_SECONDS
    text = ""
    with contextlib.suppress(FileNotFoundError):
        # The alias is written just after the bridge is made.
        while not (text := alias.read_text().strip()) and time.monotonic() < deadline:
            time.sleep(_POLL_SECONDS)
        return text
    return None


def card() -> str:
    """Return the address of the bridge's network card."""
    return (_LINKS / BRIDGE / "address").read_text().strip()


def build(directory: Path) -> None:
    """Create the bridge for the cluster in ``directory``.

    Raises:
        MachineError: There is one already, or the addresses are in use.
    """
    name = str(directory)
    if len(name) > _LONGEST_ALIAS:
        raise MachineError(f"{name} is longer than {_LONGEST_ALIAS} characters, the most of a link")
    taken = addresses_in_the_way(run("ip", "-json", "-4", "address"))
    if taken:
        raise MachineError(f"{', '.join(taken)} overlaps {NETWORK}, which real nodes use")
    run("ip", "link", "add", BRIDGE, "type", "bridge")
    run("ip", "link", "set", BRIDGE, "alias", name)
    run("ip", "link", "set", BRIDGE, "address", GATEWAY_CARD)
    run("ip", "address", "add", f"{GATEWAY}/24", "dev", BRIDGE)
    run("ip", "link", "set", BRIDGE, "up")
    _FORWARDING.write_text("1")  # of this link alone: from one node's pods to another's


def addresses_in_the_way(listing: str) -> tuple[str, ...]:
    """Return the addresses in the output of ``ip -json address`` that are in our network."""
    network = ipaddress.ip_network(NETWORK)
    found = [info["local"] for link in json.loads(listing) for info in link.get("addr_info", ())]
    return tuple(text for text in found if ipaddress.ip_address(text) in network)


def remove() -> None:
    """Remove the bridge and its cables."""
    for link in (_LINKS / BRIDGE / "brif").glob("*"):
        unplug(link.name)
    run("ip", "link", "delete", BRIDGE)


def unplug(link: str) -> None:
    """Remove a cable; nothing if it is gone, as it is some time after its node has ended."""
    with contextlib.suppress(MachineError):
        run("ip", "link", "delete", link)


def route(node: RealNode) -> None:
    """Route the node's pods for this machine, and through it for the other nodes."""
    run("ip", "route", "replace", node.pods, "via", node.address, "dev", BRIDGE)


def cut(node: RealNode) -> None:
    """Take the node's cable down."""
    run("ip", "link", "set", node.link, "down")


def restore(node: RealNode) -> None:
    """Restore the node's cable."""
    run("ip", "link", "set", node.link, "up")
