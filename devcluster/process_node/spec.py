"""The parts of a Pod object that a node reads; any field may be null.

Volumes stay raw, because their kind is the name of the one key beside ``name``: a kind unknown to
us must be named, not lost.
"""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct


class Wire(Struct, rename="camel", frozen=True, kw_only=True):
    """A JSON object of the Kubernetes API: camelCase keys, unknown keys dropped."""


class FieldRef(Wire, frozen=True):
    """``fieldRef``: a field of the pod by its path."""

    field_path: str


class ResourceFieldRef(Wire, frozen=True):
    """``resourceFieldRef``: a request or limit of a container, counted in ``divisor``."""

    resource: str
    container_name: str | None = None
    divisor: str | int | None = None


class KeyRef(Wire, frozen=True):
    """``configMapKeyRef`` and ``secretKeyRef``."""

    key: str
    name: str = ""
    optional: bool | None = None


class ObjectRef(Wire, frozen=True):
    """A reference by name that may be optional."""

    name: str = ""
    optional: bool | None = None


class EnvVarSource(Wire, frozen=True):
    """Where the value of a variable comes from; exactly one field is set."""

    field_ref: FieldRef | None = None
    resource_field_ref: ResourceFieldRef | None = None
    config_map_key_ref: KeyRef | None = None
    secret_key_ref: KeyRef | None = None
    file_key_ref: Any = None


class EnvVar(Wire, frozen=True):
    """One entry of ``env``."""

    name: str
    value: str | None = None
    value_from: EnvVarSource | None = None


class EnvFromSource(Wire, frozen=True):
    """One entry of ``envFrom``."""

    prefix: str | None = None
    config_map_ref: ObjectRef | None = None
    secret_ref: ObjectRef | None = None


class VolumeMount(Wire, frozen=True):
    """The mount of a volume in a container."""

    name: str
    mount_path: str
    read_only: bool | None = None
    sub_path: str | None = None
    sub_path_expr: str | None = None


class Resources(Wire, frozen=True):
    """Requests and limits of a container as quantities in text."""

    requests: Mapping[str, str | int] | None = None
    limits: Mapping[str, str | int] | None = None

    def granted(self) -> dict[str, Mapping[str, str | int]]:
        """Return those that are set, in the form of a status."""
        found = {"requests": self.requests, "limits": self.limits}
        return {name: amounts for name, amounts in found.items() if amounts}


class Container(Wire, frozen=True):
    """A container or an init container."""

    name: str
    image: str = ""
    command: tuple[str, ...] | None = None
    args: tuple[str, ...] | None = None
    working_dir: str | None = None
    env: tuple[EnvVar, ...] | None = None
    env_from: tuple[EnvFromSource, ...] | None = None
    volume_mounts: tuple[VolumeMount, ...] | None = None
    volume_devices: tuple[Any, ...] | None = None
    resources: Resources | None = None
    restart_policy: str | None = None
    restart_policy_rules: tuple[Any, ...] | None = None
    liveness_probe: Any = None
    readiness_probe: Any = None
    startup_probe: Any = None
    lifecycle: Any = None
    security_context: Any = None


class PodSpec(Wire, frozen=True):
    """The specification of a pod."""

    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] | None = None
    volumes: tuple[Mapping[str, Any], ...] | None = None
    node_name: str | None = None
    restart_policy: str = "Always"
    termination_grace_period_seconds: int | None = None
    active_deadline_seconds: int | None = None
    service_account_name: str | None = None
    hostname: str | None = None
    subdomain: str | None = None
    host_network: bool | None = None
    host_aliases: tuple[Mapping[str, Any], ...] | None = None
    security_context: Any = None
    readiness_gates: tuple[Any, ...] | None = None
    resource_claims: tuple[Any, ...] | None = None


class Reference(Wire, frozen=True):
    """A reference to an owner."""

    kind: str = ""
    controller: bool | None = None


class ObjectMeta(Wire, frozen=True):
    """The metadata of an object."""

    name: str
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    labels: Mapping[str, str] | None = None
    annotations: Mapping[str, str] | None = None
    owner_references: tuple[Reference, ...] | None = None
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    deletion_grace_period_seconds: int | None = None


class PodStatus(Wire, frozen=True):
    """An earlier status; raw where it is only copied."""

    phase: str = "Pending"
    start_time: str | None = None
    conditions: tuple[Mapping[str, Any], ...] | None = None
    container_statuses: tuple[Mapping[str, Any], ...] | None = None
    init_container_statuses: tuple[Mapping[str, Any], ...] | None = None


class PodObject(Wire, frozen=True):
    """The fields of a pod that its node uses."""

    metadata: ObjectMeta
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    @property
    def full_name(self) -> str:
        """``name_namespace(uid)``, the kubelet's way to name a pod in messages."""
        return f"{self.metadata.name}_{self.metadata.namespace}({self.metadata.uid})"

    @property
    def is_of_a_daemon_set(self) -> bool:
        """Whether it is a service of the node itself, such as our agent."""
        owners = self.metadata.owner_references or ()
        return any(owner.controller and owner.kind == "DaemonSet" for owner in owners)

    @property
    def hostname(self) -> str:
        """The pod's host name: ``spec.hostname``, else its name cut to 63 characters."""
        return self.spec.hostname or self.metadata.name[:63].rstrip("-.")

    @property
    def grace_seconds(self) -> int:
        """Seconds between SIGTERM and SIGKILL: the deletion's, else the specification's."""
        if self.metadata.deletion_grace_period_seconds is not None:
            return self.metadata.deletion_grace_period_seconds
        default = self.spec.termination_grace_period_seconds
        return 30 if default is None else default
