"""The environment, command and arguments of a container (pure).

Source:
    The kubelet's ``makeEnvironmentVariables`` and ``ExpandContainerCommandAndArgs``: ``envFrom``
    first, then ``env`` in order; a value may refer to what was defined before it.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from devcluster.process_node.errors import ConfigError
from devcluster.process_node.spec import (
    Container,
    EnvFromSource,
    EnvVarSource,
    KeyRef,
    ObjectRef,
    PodObject,
    ResourceFieldRef,
)
from shared import quantity

_REFERENCE: Final = re.compile(r"\$(\$|\([^)]*\))")


def expand(text: str, values: Mapping[str, str]) -> str:
    """Return ``text`` with each ``$(NAME)`` replaced by its value."""

    def replace(match: re.Match[str]) -> str:
        inner = match.group(1)
        return "$" if inner == "$" else values.get(inner[1:-1], match.group(0))

    return _REFERENCE.sub(replace, text)


_KEYED: Final = re.compile(r"metadata\.(labels|annotations)\['(.+)'\]")


@dataclass(frozen=True, slots=True)
class Addresses:
    """Addresses of a pod and its node."""

    pod_ip: str
    host_ip: str


def field_value(pod: PodObject, path: str, addresses: Addresses) -> str:
    """Return the field of a pod that ``path`` names.

    Raises:
        ConfigError: The path is none that a pod can use.
    """
    labels, annotations = pod.metadata.labels or {}, pod.metadata.annotations or {}
    if keyed := _KEYED.fullmatch(path):
        return (labels if keyed[1] == "labels" else annotations).get(keyed[2], "")
    values = {
        "metadata.name": pod.metadata.name,
        "metadata.namespace": pod.metadata.namespace,
        "metadata.uid": pod.metadata.uid,
        "metadata.labels": _lines(labels),
        "metadata.annotations": _lines(annotations),
        "spec.nodeName": pod.spec.node_name or "",
        "spec.serviceAccountName": pod.spec.service_account_name or "",
        "status.podIP": addresses.pod_ip,
        "status.podIPs": addresses.pod_ip,
        "status.hostIP": addresses.host_ip,
        "status.hostIPs": addresses.host_ip,
    }
    if path not in values:
        raise ConfigError(f"fieldRef {path!r} is not supported by a process node")
    return values[path]


def _lines(entries: Mapping[str, str]) -> str:
    """Return a line ``key="value"`` for each entry, escaped like Go's ``%q`` in common cases."""
    escaped = {
        key: value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        for key, value in sorted(entries.items())
    }
    return "\n".join(f'{key}="{value}"' for key, value in escaped.items())


def resource_value(
    pod: PodObject, container: str, ref: ResourceFieldRef, allocatable: Mapping[str, str]
) -> str:
    """Return a request or limit in units of the divisor, rounded up.

    A limit that is not set is the node's allocatable, a request that is not set is the limit, or 0.

    Raises:
        ConfigError: The container or the resource is not known.
    """
    name = ref.container_name or container
    containers = (*pod.spec.containers, *(pod.spec.init_containers or ()))
    spec = next((one for one in containers if one.name == name), None)
    kind, _, resource = ref.resource.partition(".")
    if spec is None or kind not in {"limits", "requests"}:
        raise ConfigError(f"resourceFieldRef {ref.resource!r} of container {name!r} does not exist")
    limits = (spec.resources.limits if spec.resources else None) or {}
    requests = (spec.resources.requests if spec.resources else None) or {}
    amount = limits.get(resource, allocatable.get(resource, "0"))
    if kind == "requests":
        amount = requests.get(resource, limits.get(resource, "0"))
    divisor = str(ref.divisor or "1")
    ratio = quantity.parse(str(amount), field=ref.resource) / (
        quantity.parse(divisor if divisor != "0" else "1", field="divisor")
    )
    return str(-(-ratio.numerator // ratio.denominator))


_VARIABLE_NAME: Final = re.compile(r"[^\s=\x00]+")
Data = Mapping[str, bytes]


@dataclass(frozen=True, slots=True)
class Sources:
    """Objects that were fetched for a pod: their data, None where one does not exist."""

    config_maps: Mapping[str, Data | None] = field(default_factory=dict)
    secrets: Mapping[str, Data | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Values of the node: addresses, allocatable resources, and its own variables."""

    addresses: Addresses
    allocatable: Mapping[str, str]
    base: Mapping[str, str]


def references(pod: PodObject) -> tuple[frozenset[str], frozenset[str]]:
    """Return the names of the ConfigMaps and Secrets that the variables of a pod come from."""
    config_maps: set[str] = set()
    secrets: set[str] = set()
    for container in (*pod.spec.containers, *(pod.spec.init_containers or ())):
        for source in container.env_from or ():
            config_maps |= {source.config_map_ref.name} if source.config_map_ref else set()
            secrets |= {source.secret_ref.name} if source.secret_ref else set()
        for variable in container.env or ():
            value = variable.value_from or EnvVarSource()
            config_maps |= {value.config_map_key_ref.name} if value.config_map_key_ref else set()
            secrets |= {value.secret_key_ref.name} if value.secret_key_ref else set()
    return frozenset(config_maps), frozenset(secrets)


def environment(
    pod: PodObject, container: Container, sources: Sources, around: Surroundings
) -> dict[str, str]:
    """Return the variables of a container.

    Raises:
        ConfigError: A ConfigMap, Secret, key or field that is not optional is missing.
    """
    values = dict(around.base)
    for source in container.env_from or ():
        values |= _from_object(source, sources)
    for variable in container.env or ():
        if variable.value_from is None:
            values[variable.name] = expand(variable.value or "", values)
            continue
        value = _from_source(pod, container, variable.value_from, sources, around)
        if value is not None:
            values[variable.name] = value
    return values


def command_line(container: Container, values: Mapping[str, str]) -> list[str]:
    """Return the program and its arguments, expanded."""
    words = (*(container.command or ()), *(container.args or ()))
    return [expand(word, values) for word in words]


def _from_object(source: EnvFromSource, sources: Sources) -> dict[str, str]:
    data: dict[str, str] = {}
    for kind, ref, store in (
        ("configmap", source.config_map_ref, sources.config_maps),
        ("secret", source.secret_ref, sources.secrets),
    ):
        if ref is not None:
            data |= _texts(_object(kind, ref, store) or {})
    prefix = source.prefix or ""
    return {
        prefix + key: value for key, value in data.items() if _VARIABLE_NAME.fullmatch(prefix + key)
    }


def _object(kind: str, ref: ObjectRef, store: Mapping[str, Data | None]) -> Data | None:
    data = store.get(ref.name)
    if data is None and not ref.optional:
        raise ConfigError(f'{kind} "{ref.name}" not found')
    return data


def _texts(data: Data) -> dict[str, str]:
    return {key: value.decode(errors="surrogateescape") for key, value in data.items()}


def _from_source(
    pod: PodObject,
    container: Container,
    source: EnvVarSource,
    sources: Sources,
    around: Surroundings,
) -> str | None:
    if source.field_ref is not None:
        return field_value(pod, source.field_ref.field_path, around.addresses)
    if source.resource_field_ref is not None:
        ref = source.resource_field_ref
        return resource_value(pod, container.name, ref, around.allocatable)
    if source.config_map_key_ref is not None:
        return _key("configmap", source.config_map_key_ref, sources.config_maps)
    if source.secret_key_ref is not None:
        return _key("secret", source.secret_key_ref, sources.secrets)
    raise ConfigError("a variable has a source that a process node does not support")


def _key(kind: str, ref: KeyRef, store: Mapping[str, Data | None]) -> str | None:
    data = _object(kind, ObjectRef(name=ref.name, optional=ref.optional), store)
    if data is None:
        return None
    if ref.key not in data:
        if ref.optional:
            return None
        raise ConfigError(f'key "{ref.key}" not found in {kind} "{ref.name}"')
    return data[ref.key].decode(errors="surrogateescape")
