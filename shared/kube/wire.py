"""The parts of the API's objects that we read, for msgspec; everything else is skipped unread.

Each field may be null or missing, whatever the API's documentation says: objects come from many
versions and many hands.
"""

from typing import Annotated

from msgspec import Meta as MsgspecMeta
from msgspec import Raw, Struct, field

from shared.kube.affinity import Affinity as Affinity  # noqa: PLC0414 - found here by all
from shared.kube.affinity import NodeAffinity as NodeAffinity  # noqa: PLC0414 - as above
from shared.kube.affinity import NodeRequirement as NodeRequirement  # noqa: PLC0414 - as above
from shared.kube.affinity import NodeSelector as NodeSelector  # noqa: PLC0414 - as above
from shared.kube.affinity import NodeTerm as NodeTerm  # noqa: PLC0414 - as above
from shared.kube.job_state import JobSpec, JobStatus
from shared.kube.pod_claims import PodResourceClaim
from shared.kube.pod_templates import Template
from shared.objects.label_selectors import LabelSelector

ResourceList = dict[str, str]
Count = Annotated[int, MsgspecMeta(ge=0)]


class OwnerRef(Struct, rename="camel"):
    """``metadata.ownerReferences[]``."""

    name: str
    uid: str
    kind: str = ""
    api_version: str = ""
    controller: bool | None = None


class Meta(Struct, rename="camel"):
    """``metadata``."""

    name: str
    namespace: str | None = None
    uid: str | None = None
    resource_version: str | None = None
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    owner_references: list[OwnerRef] | None = None


class Identity(Struct, rename="camel"):
    """Just enough ``metadata`` to say which object it is; a bookmark's has only the version."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""


class Identified(Struct):
    """Any object, and a bookmark."""

    metadata: Identity


class Resources(Struct):
    """``resources`` of a container, a pod or a status."""

    requests: ResourceList | None = None
    limits: ResourceList | None = None


class ResizePolicy(Struct, rename="camel"):
    """``containers[].resizePolicy[]``."""

    resource_name: str = ""
    restart_policy: str = ""


class Port(Struct, rename="camel"):
    """``containers[].ports[]``."""

    host_port: int | None = None
    host_ip: str | None = field(default=None, name="hostIP")
    protocol: str | None = None


class Container(Struct, rename="camel"):
    """``containers[]`` and ``initContainers[]``."""

    name: str = ""
    resources: Resources | None = None
    ports: list[Port] | None = None
    restart_policy: str | None = None
    resize_policy: list[ResizePolicy] | None = None


class Toleration(Struct):
    """``spec.tolerations[]``."""

    key: str | None = None
    operator: str | None = None
    value: str | None = None
    effect: str | None = None


class Spread(Struct, rename="camel"):
    """``spec.topologySpreadConstraints[]``."""

    when_unsatisfiable: str | None = None


class Present(Struct):
    """Something of which only the presence counts; msgspec's ``Raw | None`` takes null alone."""


class ClaimName(Struct, rename="camel"):
    """``spec.volumes[].persistentVolumeClaim``."""

    claim_name: str = ""


class Volume(Struct, rename="camel"):
    """``spec.volumes[]``: only the kinds that bind a pod to places."""

    persistent_volume_claim: ClaimName | None = None
    ephemeral: Present | None = None


class Gate(Struct):
    """``spec.schedulingGates[]``."""

    name: str


class SchedulingGroup(Struct, rename="camel"):
    """``spec.schedulingGroup``: the in-tree gang's."""

    pod_group_name: str | None = None


class PodSpec(Struct, rename="camel"):
    """``spec`` of a pod."""

    containers: list[Container] | None = None
    init_containers: list[Container] | None = None
    resources: Resources | None = None
    overhead: ResourceList | None = None
    node_name: str | None = None
    scheduler_name: str | None = None
    scheduling_gates: list[Gate] | None = None
    node_selector: dict[str, str] | None = None
    affinity: Affinity | None = None
    tolerations: list[Toleration] | None = None
    topology_spread_constraints: list[Spread] | None = None
    volumes: list[Volume] | None = None
    resource_claims: list[PodResourceClaim] | None = None
    priority: int | None = None
    priority_class_name: str | None = None
    scheduling_group: SchedulingGroup | None = None


class Condition(Struct, rename="camel"):
    """``status.conditions[]``."""

    type: str = ""
    status: str = ""
    reason: str | None = None
    last_transition_time: str | None = None


class Moment(Struct, rename="camel"):
    """What ``state`` of a container says of a state."""

    finished_at: str | None = None


class ContainerStatus(Struct, rename="camel"):
    """``status.containerStatuses[]``: end, and what the kubelet has granted (in-place resize)."""

    name: str = ""
    state: dict[str, Moment | None] | None = None
    resources: Resources | None = None
    allocated_resources: ResourceList | None = None


class PodStatus(Struct, rename="camel"):
    """``status`` of a pod."""

    phase: str | None = None
    reason: str | None = None
    qos_class: str | None = None
    conditions: list[Condition] | None = None
    container_statuses: list[ContainerStatus] | None = None
    init_container_statuses: list[ContainerStatus] | None = None
    resources: Resources | None = None
    allocated_resources: ResourceList | None = None


class Pod(Struct):
    """A pod."""

    metadata: Meta
    spec: PodSpec | None = None
    status: PodStatus | None = None


class Taint(Struct):
    """``spec.taints[]``."""

    key: str
    effect: str
    value: str | None = None


class NodeSpec(Struct):
    """``spec`` of a node."""

    taints: list[Taint] | None = None
    unschedulable: bool | None = None


class NodeStatus(Struct):
    """``status`` of a node."""

    allocatable: ResourceList | None = None
    conditions: list[Condition] | None = None


class Node(Struct):
    """A node."""

    metadata: Meta
    spec: NodeSpec | None = None
    status: NodeStatus | None = None


class VolumeRetention(Struct, rename="camel"):
    """``persistentVolumeClaimRetentionPolicy`` of a StatefulSet."""

    when_scaled: str | None = None


class OwnerSpec(Struct, rename="camel"):
    """``spec`` of a StatefulSet, Deployment or ReplicaSet."""

    replicas: int | None = None
    selector: LabelSelector | None = None
    template: Template | None = None
    persistent_volume_claim_retention_policy: VolumeRetention | None = None


class Owner(Struct):
    """A StatefulSet, Deployment or ReplicaSet."""

    metadata: Meta
    spec: OwnerSpec | None = None


class StampingJobSpec(JobSpec, rename="camel"):
    """``spec`` of a Job, with what its pods are made and known by."""

    selector: LabelSelector | None = None
    template: Template | None = None


class Job(Struct):
    """A Job."""

    metadata: Meta
    spec: StampingJobSpec | None = None
    status: JobStatus | None = None


class Bare(Struct):
    """An object of which the metadata is enough."""

    metadata: Meta


class PriorityClass(Struct, rename="camel"):
    """A PriorityClass."""

    metadata: Meta
    value: int = 0
    preemption_policy: str | None = None


class VolumeClaimSpec(Struct, rename="camel"):
    """``spec`` of a PersistentVolumeClaim."""

    volume_name: str | None = None
    access_modes: list[str] | None = None


class VolumeClaimStatus(Struct):
    """``status`` of a PersistentVolumeClaim."""

    phase: str | None = None


class VolumeClaim(Struct):
    """A PersistentVolumeClaim."""

    metadata: Meta
    spec: VolumeClaimSpec | None = None
    status: VolumeClaimStatus | None = None


class VolumeNodeAffinity(Struct):
    """``spec.nodeAffinity`` of a PersistentVolume."""

    required: NodeSelector | None = None


class PersistentVolumeSpec(Struct, rename="camel"):
    """``spec`` of a PersistentVolume."""

    node_affinity: VolumeNodeAffinity | None = None


class PersistentVolume(Struct):
    """A PersistentVolume."""

    metadata: Meta
    spec: PersistentVolumeSpec | None = None


class ListMeta(Struct, rename="camel"):
    """``metadata`` of a list."""

    resource_version: Annotated[str, MsgspecMeta(min_length=1)]
    continue_token: str | None = field(default=None, name="continue")


class Page(Struct):
    """One page of a list; the items stay raw, so that an odd one spoils only itself."""

    metadata: ListMeta
    items: list[Raw] | None = None


class Event(Struct):
    """One line of a watch."""

    type: str
    object: Raw


class LeaseSpec(Struct, rename="camel"):
    """``spec`` of a Lease."""

    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    renew_time: str | None = None


class Lease(Struct):
    """A Lease."""

    spec: LeaseSpec | None = None
