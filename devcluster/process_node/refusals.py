"""Features of pods that a process node refuses or ignores (pure).

====================================================  ==============================================
asked for                                             here
====================================================  ==============================================
container without ``command``                         refused: ``ImageNotSupported``
volume of another kind than ``volumes`` lists         refused: ``VolumeNotSupported``
block devices, resource claims, restart rules         refused: ``FeatureNotSupported``
mount paths that cannot be rewritten (rewrite mode)   refused: ``MountNotSupported``
more than the node has left                           Failed: ``OutOfcpu``, ``OutOfmemory``, …
image, imagePullPolicy                                left out: a container is a local command
probes, readiness gates                               left out: a running container is ready
lifecycle hooks                                       left out
securityContext                                       left out: the node process's user runs it
hostNetwork, ports                                    left out: every pod shares the host's network
limits of memory and storage                          left out; CPU: see ``cpu_budget``
terminationMessagePath, stdin, tty                    left out
in-place resize                                       granted at once; CPU: see ``cpu_budget``
ephemeral containers                                  left out: the object changes, nothing happens
logs, exec, attach, port-forward by the API           not served: read the node's ``logs`` directory
====================================================  ==============================================

A refused pod stays Pending; its containers wait with the reason and a message that names the cause.
"""

from collections.abc import Iterable, Iterator, Mapping

from devcluster.process_node.errors import RefusedError
from devcluster.process_node.spec import Container, PodObject
from devcluster.process_node.volumes import plan

Requests = Iterable[tuple[str, int]]


def verdict(
    requested: Requests, present: Iterable[Requests], allocatable: Mapping[str, int]
) -> tuple[str, str] | None:
    """Return reason and message if a pod does not fit beside those present; None if it does.

    Args:
        requested: Effective requests of the pod in base units, ``pods`` included.
        present: Those of the pods that have not ended.
        allocatable: Of the node, in base units.
    """
    used: dict[str, int] = {}
    for requests in present:
        for resource, amount in requests:
            used[resource] = used.get(resource, 0) + amount
    for resource, amount in requested:
        capacity, taken = allocatable.get(resource, 0), used.get(resource, 0)
        if taken + amount > capacity:
            amounts = f"requested: {amount}, used: {taken}, capacity: {capacity}"
            message = f"Node didn't have enough resource: {resource}, {amounts}"
            return f"OutOf{resource}", message
    return None


def refuse(pod: PodObject) -> None:
    """Make sure that a process node can run this pod at all.

    Raises:
        RefusedError: It cannot; the message names the feature.
    """
    if pod.spec.resource_claims:
        raise RefusedError("FeatureNotSupported", "a process node has no resource claims")
    for container in (*(pod.spec.init_containers or ()), *pod.spec.containers):
        _refuse_container(container)
    plan(pod)


def _refuse_container(container: Container) -> None:
    if not container.command:
        raise RefusedError(
            "ImageNotSupported",
            f"container {container.name}: a process node runs no images; give it a command that "
            f"this machine has (image {container.image!r} is not read)",
        )
    if container.volume_devices:
        raise RefusedError("FeatureNotSupported", f"container {container.name}: volumeDevices")
    if container.restart_policy_rules:
        raise RefusedError("FeatureNotSupported", f"container {container.name}: restartPolicyRules")


def left_out(pod: PodObject) -> tuple[str, ...]:
    """Return the features that this pod requests and does not get, for the log."""
    ignored = [name for name, is_set in _of_pod(pod) if is_set]
    for container in (*(pod.spec.init_containers or ()), *pod.spec.containers):
        ignored += [
            f"{container.name}.{name}" for name, is_set in _of_container(container) if is_set
        ]
    return tuple(ignored)


def _of_pod(pod: PodObject) -> Iterator[tuple[str, bool]]:
    yield "hostNetwork", bool(pod.spec.host_network)
    yield "securityContext", bool(pod.spec.security_context)
    yield "readinessGates", bool(pod.spec.readiness_gates)


def _of_container(container: Container) -> Iterator[tuple[str, bool]]:
    yield "livenessProbe", container.liveness_probe is not None
    yield "readinessProbe", container.readiness_probe is not None
    yield "startupProbe", container.startup_probe is not None
    yield "lifecycle", container.lifecycle is not None
    yield "securityContext", bool(container.security_context)
