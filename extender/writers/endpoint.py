"""The leader's address for a kube-scheduler that runs elsewhere.

The leader writes its address into the EndpointSlice of a Service without a selector. A standby
writes nothing: a new leader overwrites the address of the one before.
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

LEAD_SECONDS: Final = 0.5
"""Time between two checks of our leadership; so long kube-scheduler calls the leader before us."""
CHECK_SECONDS: Final = 5.0
"""Time between two checks that the slice still has our address."""

log = logging.getLogger(__name__)

_NOT_PUBLISHED: Final = "the address of this replica is not published: %s: %s"


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
        """``addressType`` of the slice."""
        return f"IPv{ipaddress.ip_address(self.address).version}"

    def fields(self) -> Mapping[str, Any]:
        """Return the slice's fields that name this replica."""
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
    """Keeps the slice at ``path`` up to date while this replica leads."""

    client: LeaderWriter
    path: str
    place: EndpointAddress
    clock: Clock
    heartbeat: Heartbeat
    _checked_at: float | None = None
    _problems: LastingProblems = field(init=False)

    def __post_init__(self) -> None:
        self._problems = LastingProblems(partial(log.error, _NOT_PUBLISHED, self.path))

    async def run(self) -> None:
        """Check every ``LEAD_SECONDS``; returns only by cancellation."""
        while True:
            self.heartbeat.beat()
            await self.check()
            await asyncio.sleep(LEAD_SECONDS)

    async def check(self) -> None:
        """Write our address if we lead and the slice has another; log a failure once."""
        if not self.client.leads():
            self._checked_at = None
            return
        now = self.clock.monotonic()
        if self._checked_at is not None and now - self._checked_at < CHECK_SECONDS:
            return
        try:
            problem = await self._write()
        except ConflictError:
            return  # another client wrote it: the next check reads it at once
        except (ApiError, ValueError) as error:  # no such JSON, or no UTF-8
            problem = str(error)
        if problem is None:
            self._checked_at = now
        self._problems.update([] if problem is None else [problem])

    async def _write(self) -> str | None:
        """Return the problem of the slice; None if it has our address now."""
        current = _DECODER.decode(await self.client.get(self.path))
        if current.address_type != self.place.address_type:
            return f"its addressType is {current.address_type}, ours {self.place.address_type}"
        fields = self.place.fields()
        if _has_ours(current, fields) or not self.client.leads():
            return None
        version = {"resourceVersion": current.metadata.resource_version}
        await self.client.patch(self.path, {"metadata": version, **fields})
        log.info("published the address of this replica", extra={"address": self.place.address})
        return None


def _has_ours(current: _Slice, ours: Mapping[str, Any]) -> bool:
    """Return True if the slice has our endpoint and port, and no other."""
    return _addresses(current.endpoints) == _addresses(ours["endpoints"]) and (
        _ports(current.ports) == _ports(ours["ports"])
    )


def _addresses(endpoints: Any) -> list[Any]:
    return [(each.get("addresses"), each.get("conditions")) for each in endpoints or ()]


def _ports(ports: Any) -> list[Any]:
    return [(port.get("name"), port.get("port")) for port in ports or ()]
