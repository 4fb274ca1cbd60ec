"""CPU requests of a pod by container, and as its owner set them."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from msgspec.structs import replace

from shared.kube import wire
from shared.kube.amounts import base_units, parsed, pod_requests
from shared.model import CPU, ContainerCpu
from shared.objects import pod_cpu
from shared.objects.pod_cpu import GivenCpu

Requests = tuple[tuple[str, int], ...]

_MOST_KEPT: Final = 32
"""Containers of a pod that is cached: the cache outlives the pod."""
_NONE: Final[Mapping[str, str]] = {}


def containers(spec: wire.PodSpec) -> tuple[ContainerCpu, ...]:
    """Return the CPU of each ordinary container; empty if the pod as a whole requests some.

    Raises:
        QuantityError: An amount is not a quantity.
    """
    whole = spec.resources
    if whole is not None and (whole.requests or whole.limits):
        return ()
    keys = tuple(_key(container) for container in spec.containers or ())
    return _cached(keys) if len(keys) <= _MOST_KEPT else _containers(keys)


_Key = tuple[str, str | None, str | None, bool]


def _key(container: wire.Container) -> _Key:
    resources = container.resources or wire.Resources()
    return (
        container.name,
        (resources.requests or _NONE).get(CPU),
        (resources.limits or _NONE).get(CPU),
        any(
            policy.resource_name == CPU and policy.restart_policy == "RestartContainer"
            for policy in container.resize_policy or ()
        ),
    )


@lru_cache(maxsize=4096)
def _cached(keys: tuple[_Key, ...]) -> tuple[ContainerCpu, ...]:
    """Return one value for all pods with the same requests."""
    return _containers(keys)


def _containers(keys: tuple[_Key, ...]) -> tuple[ContainerCpu, ...]:
    return tuple(
        ContainerCpu(name, _milli(request) or 0, _milli(limit), restarts)
        for name, request, limit, restarts in keys
    )


def _milli(text: str | None) -> int | None:
    return None if text is None else base_units(CPU, parsed(CPU, text))


def requests_as_given(
    spec: wire.PodSpec, status: wire.PodStatus, annotations: Mapping[str, str]
) -> tuple[Requests, int]:
    """Return the pod's requests with the owner's CPU request, and the change to the present one.

    For a bound pod whose request we changed: the original requests, which it would have on another
    node, and how much more milli-CPU it counts on its node (below 0: less).

    Raises:
        QuantityError: An amount is not a quantity.
    """
    now = pod_requests(spec, status)
    given = pod_cpu.parse_given(annotations) if spec.node_name else None
    if given is None or all(c.name != given.container for c in spec.containers or ()):
        return now, 0
    own = pod_requests(_spec_as_given(spec, given), _status_as_given(status, given))
    return own, dict(now).get(CPU, 0) - dict(own).get(CPU, 0)


def _spec_as_given(spec: wire.PodSpec, given: GivenCpu) -> wire.PodSpec:
    return replace(
        spec,
        containers=[
            replace(c, resources=_resources(c.resources, given)) if c.name == given.container else c
            for c in spec.containers or ()
        ],
    )


def _status_as_given(status: wire.PodStatus, given: GivenCpu) -> wire.PodStatus:
    """Return the status as if the node had granted the owner's request."""
    return replace(
        status,
        container_statuses=[
            replace(
                s,
                resources=_resources(s.resources, given),
                allocated_resources=_amounts(s.allocated_resources, given),
            )
            if s.name == given.container and s.resources is not None
            else s
            for s in status.container_statuses or ()
        ],
    )


def _resources(resources: wire.Resources | None, given: GivenCpu) -> wire.Resources:
    resources = resources or wire.Resources()
    return replace(resources, requests=_amounts(resources.requests, given))


def _amounts(amounts: wire.ResourceList | None, given: GivenCpu) -> wire.ResourceList:
    return {**(amounts or _NONE), CPU: f"{given.milli}m"}
