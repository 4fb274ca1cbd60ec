"""The replica that acts leads a kube-scheduler elsewhere to itself.

It writes its address into the EndpointSlice of a Service without a selector. A standby writes
nothing: the new one overwrites what the one before left.
"""

import asyncio
import ipaddress
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

import msgspec
from msgspec import Struct

from extender.writers.leader_writer import LeaderWriter
from shared.clock import Clock
from shared.health import Heartbeat
from shared.kube.errors import ApiError, ConflictError
from shared.logs import LastingProblems

LOOK_SECONDS: Final = 0.5
"""How often it is looked whether we act: so long kube-scheduler goes on asking the one before."""
CHECK_SECONDS: Final = 5.0
"""How often it is looked whether what we wrote still stands there."""

log = logging.getLogger(__name__)

_NOT_LED: Final = "kube-scheduler is not led to this replica: %s: %s"


class _Meta(Struct, frozen=True, rename="camel"):
    resource_version: str = ""


class _Slice(Struct, frozen=True, rename="camel"):
    metadata: _Meta = _Meta()
    address_type: str = ""
    endpoints: Any = None
    ports: Any = None


_DECODER: Final = msgspec.json.Decoder(_Slice)


@dataclass(frozen=True)
class EndpointAddress:
    """Where kube-scheduler finds this replica.

    Attributes:
        address: Its IP address.
        port: Where it listens for kube-scheduler.
        port_name: Name of the Service's port.
        pod: Its pod, by namespace and name, for people who look at the slice.
    """

    address: str
    port: int
    port_name: str
    pod: tuple[str, str]

    @property
    def address_type(self) -> str:
        """As a slice says it."""
        return f"IPv{ipaddress.ip_address(self.address).version}"

    def fields(self) -> Mapping[str, Any]:
        """Return what a slice says of us."""
        namespace, name = self.pod
        target = {"kind": "Pod", "namespace": namespace, "name": name}
        endpoint = {
            "addresses": [self.address],
            "conditions": {"ready": True},
            "targetRef": target,
        }
        port = {"name": self.port_name, "port": self.port, "protocol": "TCP"}
        return {"endpoints": [endpoint], "ports": [port]}


@dataclass
class EndpointLoop:
    """See the module; ``path`` is the slice's."""

    client: LeaderWriter
    path: str
    place: EndpointAddress
    clock: Clock
    heartbeat: Heartbeat
    _checked_at: float | None = None
    _problems: LastingProblems = field(init=False)

    def __post_init__(self) -> None:
        self._problems = LastingProblems(partial(log.error, _NOT_LED, self.path))

    async def run(self) -> None:
        """Look every ``LOOK_SECONDS``; returns only by cancellation."""
        while True:
            self.heartbeat.beat()
            await self.look()
            await asyncio.sleep(LOOK_SECONDS)

    async def look(self) -> None:
        """Write our address if we act and it does not stand there; what fails is said once."""
        if not self.client.leads():
            self._checked_at = None
            return
        now = self.clock.monotonic()
        if self._checked_at is not None and now - self._checked_at < CHECK_SECONDS:
            return
        try:
            problem = await self._write()
        except ConflictError:
            return  # somebody else wrote it; looked at again at once
        except (ApiError, ValueError) as error:  # no such JSON, or no UTF-8
            problem = str(error)
        if problem is None:
            self._checked_at = now
        self._problems.update([] if problem is None else [problem])

    async def _write(self) -> str | None:
        """Return what is wrong with the slice; None if it leads to us now."""
        found = _DECODER.decode(await self.client.get(self.path))
        if found.address_type != self.place.address_type:
            return f"its addressType is {found.address_type}, ours {self.place.address_type}"
        wanted = self.place.fields()
        if _leads(found, wanted) or not self.client.leads():
            return None
        version = {"resourceVersion": found.metadata.resource_version}
        await self.client.patch(self.path, {"metadata": version, **wanted})
        log.info("kube-scheduler is led to this replica", extra={"address": self.place.address})
        return None


def _leads(found: _Slice, wanted: Mapping[str, Any]) -> bool:
    """Say whether the slice has our endpoint and port, and no other."""
    return _addresses(found.endpoints) == _addresses(wanted["endpoints"]) and (
        _ports(found.ports) == _ports(wanted["ports"])
    )


def _addresses(endpoints: Any) -> list[Any]:
    return [(one.get("addresses"), one.get("conditions")) for one in endpoints or ()]


def _ports(ports: Any) -> list[Any]:
    return [(one.get("name"), one.get("port")) for one in ports or ()]
