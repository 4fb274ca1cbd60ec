"""What resources and claims name, as columns of the node table: the ways to count each.

Where a claim requests numbers of devices, each request is a number of devices of a kind. Whatever
else it requests (constraints, alternatives of different sizes, admin access, parts of capacity) is
decided for a claim as a whole: one column counts such claims (``claim_allocation``). A claim may
have several ways; the first one that the devices of all nodes allow is taken.
"""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from msgspec.structs import replace

from extender.core.nodes.device_kinds import Kind
from shared.objects.devices import (
    IMPLICIT,
    Amounts,
    ClaimSpec,
    Constraint,
    DeviceClass,
    DeviceRequest,
)

MOST_DEVICES: Final = 32
"""Devices of one claim: the API server allows no more."""

_DIGITS: Final = 8

_CLAIM: Final = "ResourceClaim "
_TEMPLATE: Final = "ResourceClaimTemplate "


@dataclass(frozen=True)
class Choice:
    """As many devices as ``count`` of the first kind that has them; each kind would do.

    Attributes:
        kinds: In the order of preference.
        count: How many devices one request takes, of whichever kind.
    """

    kinds: tuple[Kind, ...]
    count: int


@dataclass(frozen=True)
class Option:
    """One alternative of a request; the attributes as in ``DeviceRequest``."""

    name: str
    kind: Kind
    count: int
    every: bool = False
    admin: bool = False
    capacity: Amounts = ()


@dataclass(frozen=True)
class WholeRequest:
    """A request, and its alternatives in the order of preference."""

    name: str
    options: tuple[Option, ...]


@dataclass(frozen=True)
class WholeClaim:
    """A claim that is counted as a whole."""

    requests: tuple[WholeRequest, ...]
    constraints: tuple[Constraint, ...] = ()


Counted = Kind | Choice | WholeClaim
"""What a column counts: devices, or claims."""


@dataclass(frozen=True)
class Share:
    """What one unit of a resource, or one claim, takes of a column.

    Attributes:
        column: Of the node table.
        counts: What the column counts.
        count: How many; ``EVERY`` for all that a node has.
    """

    column: str
    counts: Counted
    count: int


EVERY: Final = 0
"""As a count: all devices of a node; they are a number if all nodes have the same."""

Wanted = tuple[Share, ...]
Ways = tuple[Wanted, ...]


def template_name(namespace: str, name: str) -> str:
    """Name a template among resources; no resource has a space in its name."""
    return f"{_TEMPLATE}{namespace}/{name}"


def claim_name(namespace: str, name: str) -> str:
    """Name a claim that exists by itself, likewise."""
    return f"{_CLAIM}{namespace}/{name}"


def is_claim(name: str) -> bool:
    """Return True for the name of such a claim."""
    return name.startswith(_CLAIM)


def is_template(name: str) -> bool:
    """Return True for the name of a template."""
    return name.startswith(_TEMPLATE)


def key_of(name: str) -> str:
    """Return ``namespace/name`` of a template or claim."""
    return name.partition(" ")[2]


@dataclass(frozen=True)
class Catalog:
    """What pods can name.

    Attributes:
        classes: By name.
        served: The class behind each resource.
        specs: Of templates and claims, by ``template_name`` and ``claim_name``.
        divided: Some devices of the cluster are partitions, or have parts of their capacity taken.
    """

    classes: Mapping[str, DeviceClass]
    served: Mapping[str, str]
    specs: Mapping[str, ClaimSpec]
    divided: bool = False

    def of_resource(self, resource: str) -> Ways:
        """Return what one unit of a resource takes that a class serves."""
        device_class = self.classes[self.served[resource]]
        return ((Share(resource, Kind(device_class.selectors), 1),),)

    def of_claim(self, name: str) -> Ways | str:
        """Return what a claim takes, or why we do not model it."""
        spec = self.specs.get(name)
        if spec is None:
            return f"{name} does not exist"
        if spec.special:
            return f"{name}: {spec.special}"
        options = [one for request in spec.requests for one in _options(request)]
        missing = [o.device_class for o in options if o.device_class not in self.classes]
        if missing:
            return f"{name}: DeviceClass {missing[0]} does not exist"
        if sum(map(_fewest, spec.requests)) > MOST_DEVICES:
            return f"{name}: more than {MOST_DEVICES} devices"
        numbers = None if spec.constraints else self._numbers(spec.requests)
        if numbers is None:
            return ((self._whole(spec),),)
        whole = self.divided or len(numbers) > 1 or any(_depends(share) for share in numbers)
        return (numbers, (self._whole(spec),)) if whole else (numbers,)

    def _numbers(self, requests: Iterable[DeviceRequest]) -> Wanted | None:
        """Return the requests as numbers of devices; None if they are more than that."""
        shares = [self._number(request) for request in requests]
        found = tuple(share for share in shares if share is not None)
        return found if len(found) == len(shares) else None

    def _number(self, request: DeviceRequest) -> Share | None:
        options = _options(request)
        if any(option.admin or option.capacity for option in options):
            return None
        if len(options) == 1:
            (only,) = options
            count = EVERY if only.every else only.count
            return Share(self._column([only]), self._kind(only), count)
        counts = {option.count for option in options}
        if len(counts) > 1 or any(option.every for option in options):
            return None
        (count,) = counts
        choice = Choice(tuple(map(self._kind, options)), count)
        return Share(self._column(options), choice, count)

    def _kind(self, option: DeviceRequest) -> Kind:
        own = self.classes[option.device_class].selectors
        return Kind((*own, *option.selectors), option.tolerations)

    def _column(self, options: Iterable[DeviceRequest]) -> str:
        """Name the column of devices of a kind, or of several kinds."""
        first, *others = options
        if not others and not (first.selectors or first.tolerations):
            return f"{IMPLICIT}{first.device_class}"
        if not others:
            return _named([first], (first.selectors, first.tolerations))
        accepted = [(o.device_class, o.selectors, o.tolerations) for o in (first, *others)]
        return _named([first, *others], (first.count, accepted))

    def _whole(self, spec: ClaimSpec) -> Share:
        options = [one for request in spec.requests for one in _options(request)]
        requests = spec.requests if spec.constraints else tuple(map(_nameless, spec.requests))
        column = _named(options, (requests, spec.constraints))
        whole = WholeClaim(
            tuple(
                WholeRequest(request.name, tuple(map(self._option, _options(request))))
                for request in requests
            ),
            spec.constraints,
        )
        return Share(column, whole, 1)

    def _option(self, one: DeviceRequest) -> Option:
        return Option(
            name=one.name,
            kind=self._kind(one),
            count=one.count,
            every=one.every,
            admin=one.admin,
            capacity=one.capacity,
        )


def _named(options: Iterable[DeviceRequest], accepted: object) -> str:
    classes = "+".join(dict.fromkeys(option.device_class for option in options))
    return f"{IMPLICIT}{classes}/{hashlib.sha256(repr(accepted).encode()).hexdigest()[:_DIGITS]}"


def _depends(share: Share) -> bool:
    """Return True if it depends on the nodes whether a share is a number of devices."""
    return share.count == EVERY or isinstance(share.counts, Choice)


def _options(request: DeviceRequest) -> tuple[DeviceRequest, ...]:
    """Return the alternatives of a request; one without alternatives is its only one."""
    return request.alternatives or (request,)


def _fewest(request: DeviceRequest) -> int:
    return min(1 if option.every else option.count for option in _options(request))


def _nameless(request: DeviceRequest) -> DeviceRequest:
    """Return the request without names, which matter to constraints alone."""
    alternatives = tuple(replace(one, name="") for one in request.alternatives)
    return replace(request, name="", alternatives=alternatives)
