"""Effective requests of a pod, computed as kube-scheduler does."""

from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Final

from shared import quantity
from shared.kube import wire

Amounts = dict[str, Fraction]

_Requests = tuple[tuple[tuple[str, str], ...], ...]
_MOST_KEPT: Final = 64
"""Containers and amounts of a pod whose sum is cached: the cache outlives the pod."""
_PLAIN: Final = frozenset({"cpu", "memory", "ephemeral-storage"})
POD_LEVEL: Final = frozenset({"cpu", "memory"})
"""Resources that a pod may request as a whole, besides huge pages."""
_NONE: Final[Mapping[str, str]] = {}
_NO_STATUS: Final = wire.PodStatus()


def pod_requests(spec: wire.PodSpec, status: wire.PodStatus) -> tuple[tuple[str, int], ...]:
    """Return the pod's effective requests in base units: sorted, above zero, with one ``pods``.

    Raises:
        QuantityError: An amount is not a quantity.

    Source:
        k8s.io/component-helpers/resource ``PodRequests`` (v0.36) with in-place resize and pod-level
        resources, as kube-scheduler's ``PodInfo.CalculateResource`` calls it.
    """
    if spec.init_containers or spec.overhead or spec.resources or _granted_something(status):
        return _counted(_total(spec, status))
    containers = tuple(_key(container) for container in spec.containers or ())
    usual = len(containers) + sum(map(len, containers)) <= _MOST_KEPT
    return _cached(containers) if usual else _plain(containers)


@lru_cache(maxsize=4096)
def _cached(containers: _Requests) -> tuple[tuple[str, int], ...]:
    """Return the usual case, computed once for all pods with the same requests."""
    return _plain(containers)


def _plain(containers: _Requests) -> tuple[tuple[str, int], ...]:
    total: Amounts = {}
    for requests in containers:
        _add(total, _parsed(dict(requests)))
    return _counted(total)


def _key(container: wire.Container) -> tuple[tuple[str, str], ...]:
    requests = container.resources.requests if container.resources else None
    return tuple((requests or _NONE).items())


def container_requests(spec: wire.PodSpec) -> Amounts:
    """Return the sum of the containers' requests, without those of the pod as a whole.

    Raises:
        QuantityError: An amount is not a quantity.
    """
    return _containers(spec, _NO_STATUS)


def _granted_something(status: wire.PodStatus) -> bool:
    return status.resources is not None or any(s.resources for s in _statuses(status))


def _total(spec: wire.PodSpec, status: wire.PodStatus) -> Amounts:
    total = _containers(spec, status)
    _apply_pod_level(total, spec, status)
    _add(total, _parsed(spec.overhead))
    return total


def _counted(total: Amounts) -> tuple[tuple[str, int], ...]:
    counted = {name: base_units(name, amount) for name, amount in total.items() if _counts(name)}
    counted["pods"] = 1
    return tuple(sorted((name, amount) for name, amount in counted.items() if amount > 0))


def base_units(resource: str, amount: Fraction) -> int:
    """Return milli-CPU for ``cpu``, whole units for everything else, rounded up."""
    return quantity.rounded_up(resource, amount)


def _containers(spec: wire.PodSpec, status: wire.PodStatus) -> Amounts:
    granted = {s.name: s for s in _statuses(status)}
    infeasible = _resize_infeasible(status)
    total: Amounts = {}
    for container in spec.containers or ():
        _add(total, _container(container, granted.get(container.name), infeasible=infeasible))
    sidecars: Amounts = {}
    start: Amounts = {}
    for container in spec.init_containers or ():
        sidecar = container.restart_policy == "Always"
        state = granted.get(container.name) if sidecar else None
        needed = _container(container, state, infeasible=infeasible)
        if sidecar:
            _add(total, needed)
            _add(sidecars, needed)
            needed = sidecars
        else:
            _add(needed, sidecars)
        _raise_to(start, needed)
    _raise_to(total, start)
    return total


def _container(
    container: wire.Container, state: wire.ContainerStatus | None, *, infeasible: bool
) -> Amounts:
    requests = container.resources.requests if container.resources else None
    if state is None or state.resources is None:
        return _parsed(requests)
    return _effective(
        requests, state.resources.requests, state.allocated_resources, infeasible=infeasible
    )


def _apply_pod_level(total: Amounts, spec: wire.PodSpec, status: wire.PodStatus) -> None:
    """Replace the containers' sum by requests of the pod as a whole, by resource."""
    requests = spec.resources.requests if spec.resources else None
    names = [name for name in requests or () if name in POD_LEVEL or name.startswith("hugepages-")]
    if not names:
        return
    effective = _parsed(requests)
    if status.resources is not None:
        effective = _effective(
            requests,
            status.resources.requests,
            status.allocated_resources,
            infeasible=_resize_infeasible(status),
        )
    for name in names:
        total[name] = effective.get(name, Fraction(0))


def _effective(
    requests: wire.ResourceList | None,
    actuated: wire.ResourceList | None,
    allocated: wire.ResourceList | None,
    *,
    infeasible: bool,
) -> Amounts:
    """Return the largest of requested (unless infeasible), allocated and actual amounts."""
    largest = {} if infeasible else _parsed(requests)
    _raise_to(largest, _parsed(actuated))
    _raise_to(largest, _parsed(allocated))
    return largest


def _statuses(status: wire.PodStatus) -> Iterable[wire.ContainerStatus]:
    yield from status.container_statuses or ()
    yield from status.init_container_statuses or ()


def _resize_infeasible(status: wire.PodStatus) -> bool:
    pending = (c for c in status.conditions or () if c.type == "PodResizePending")
    return any(c.reason == "Infeasible" for c in pending)


def _parsed(amounts: wire.ResourceList | None) -> Amounts:
    return {name: parsed(name, text) for name, text in (amounts or _NONE).items()}


@lru_cache(maxsize=4096)
def parsed(resource: str, text: str) -> Fraction:
    """Return the exact amount of a request.

    Raises:
        QuantityError: It is not a quantity.
    """
    return quantity.parse(text, field=f"request of {resource}")


def _add(total: Amounts, more: Amounts) -> None:
    for name, amount in more.items():
        total[name] = total.get(name, Fraction(0)) + amount


def _raise_to(total: Amounts, least: Amounts) -> None:
    for name, amount in least.items():
        total[name] = max(total.get(name, amount), amount)


def _counts(resource: str) -> bool:
    """Return True if NodeResourcesFit checks the resource."""
    return (
        resource in _PLAIN
        or "/" in resource
        or resource.startswith(("hugepages-", "attachable-volumes-"))
    )
