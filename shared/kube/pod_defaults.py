"""Requests that the API server defaults in a Pod, but not in a pod template.

A pod that was read from the API server has them already. A template does not: a resource with a
limit but no request would look as if the pod did not need it.

Source:
    kubernetes v1.36.3, pkg/apis/core/v1/defaults.go (``SetDefaults_Pod``). LimitRanges and
    RuntimeClasses are applied by admission plugins, not here.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from msgspec.structs import replace

from shared.kube import wire
from shared.kube.amounts import POD_LEVEL, container_requests

_HUGE_PAGES: Final = "hugepages-"
_NANO: Final = 10**9
_NONE: Final[Mapping[str, str]] = {}


def with_requests(spec: wire.PodSpec) -> wire.PodSpec:
    """Return a pod's spec with the requests that its limits imply.

    For each resource of a container, the limit is the default of the request. For the pod as a
    whole, CPU and memory default to the containers' sum, else to the limit. A spec without missing
    requests is returned unchanged.

    Raises:
        QuantityError: An amount is not a quantity.
    """
    if any(without_request(spec)):
        spec = replace(
            spec,
            containers=_filled(spec.containers),
            init_containers=_filled(spec.init_containers),
        )
    if spec.resources is None or not spec.resources.limits:
        return spec
    return replace(spec, resources=_of_the_whole(spec, spec.resources))


def without_request(spec: wire.PodSpec) -> Iterator[str]:
    """Yield the resources that a container limits without requesting them."""
    for container in (*(spec.containers or ()), *(spec.init_containers or ())):
        yield from _unstated(container.resources)


def _unstated(resources: wire.Resources | None) -> Iterator[str]:
    if resources is not None and resources.limits:
        requests = resources.requests or _NONE
        yield from (name for name in resources.limits if name not in requests)


def _filled(containers: list[wire.Container] | None) -> list[wire.Container] | None:
    return None if containers is None else [_container(container) for container in containers]


def _container(container: wire.Container) -> wire.Container:
    resources = container.resources
    if resources is None or not any(_unstated(resources)):
        return container
    requests = {**(resources.limits or _NONE), **(resources.requests or _NONE)}
    return replace(container, resources=replace(resources, requests=requests))


def _of_the_whole(spec: wire.PodSpec, whole: wire.Resources) -> wire.Resources:
    limits, stated = whole.limits or _NONE, whole.requests or _NONE
    summed = {
        name: f"{-(-amount * _NANO // 1)}n"
        for name, amount in container_requests(spec).items()
        if name in POD_LEVEL
    }
    limited = {
        name: text
        for name, text in limits.items()
        if name in POD_LEVEL or name.startswith(_HUGE_PAGES)
    }
    requests = {**limited, **summed, **stated}
    return replace(whole, requests=requests) if requests else whole
