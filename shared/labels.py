"""Every label, annotation, gate and condition that users or we write.

Includes keys of other projects that we read.
"""

from typing import Final

DOMAIN: Final = "shuntyard.io"

SCHEDULER_NAME: Final = "shuntyard"
"""Default ``spec.schedulerName`` of pods that are ours."""

GATE: Final = "shuntyard.io/queue"
"""Scheduling gate of queued pods; the release patch removes it."""

JOB: Final = "shuntyard.io/job"
"""Label on the pod: job name; default: the top owner's name."""

ROLE: Final = "shuntyard.io/role"
"""Label on the pod: ``ps``, ``worker``, ``master``, ``evaluator``, …"""

MIN_AVAILABLE: Final = "shuntyard.io/min-available"
"""Annotation on pod or owner: gang size, an integer of at least 1."""

USER_PRIORITY: Final = "shuntyard.io/user-priority"
"""Annotation on Namespace or ResourceQuota: user priority u, 1…10."""

WEIGHT: Final = "shuntyard.io/weight"
"""Annotation on Namespace or ResourceQuota: by what its share of the cluster is divided."""

GUARANTEED_SHARE: Final = "shuntyard.io/guaranteed-share"
"""Annotation on Namespace or ResourceQuota: the share below which its jobs go first, 0…1."""

BORROWING_LIMIT: Final = "shuntyard.io/borrowing-limit"
"""Annotation on Namespace or ResourceQuota: how much more than guaranteed it may hold, 0…1."""

MAX_WAIT: Final = "shuntyard.io/max-wait"
"""Annotation on pod or owner: maximum wait L as a Go duration, e.g. ``20m``."""

EXPECTED_DURATION: Final = "shuntyard.io/expected-duration"
"""Annotation on pod or owner: how long the job runs, as a Go duration, e.g. ``2h``."""

REQUIRED_TOPOLOGY: Final = "shuntyard.io/required-topology"
"""Annotation on pod or owner: level of which one domain must hold the whole gang, e.g. ``rack``."""

PREFERRED_TOPOLOGY: Final = "shuntyard.io/preferred-topology"
"""Annotation on pod or owner: level of which as few domains as possible hold the gang."""

SLICE_REQUIRED_TOPOLOGY: Final = "shuntyard.io/slice-required-topology"
"""Annotation on pod or owner: level of which one domain must hold each slice, e.g. ``nvlink``."""

SLICE_SIZE: Final = "shuntyard.io/slice-size"
"""Annotation on pod or owner: how many pods, by index, make a slice, e.g. ``16``."""

EQUAL_PARTS: Final = "shuntyard.io/equal-parts"
"""Annotation on pod or owner: ``required`` lets the gang wait until domains take equal parts."""

ACCELERATORS: Final = "shuntyard.io/accelerators"
"""Annotation on pod or owner: GPU models in order of preference, ``h100>a100``, with speeds or
without: ``h100=2.5>a100=1``."""

SPREAD_SPEEDS: Final = "shuntyard.io/spread-speeds"
"""Annotation on pod or owner: how fast the job trains while its members are in several domains of a
level, as a part of its speed in one: ``rack=0.8,zone=0.5``."""

SHARE: Final = "shuntyard.io/share"
"""Annotation on pod or owner: ``allowed`` lets pods of the job share one device with each other."""

AFFINITY: Final = "shuntyard.io/affinity"
"""Annotation on pod or owner: roles that should share a bucket, ``ps,worker;ps,evaluator``."""

ANTI_AFFINITY: Final = "shuntyard.io/anti-affinity"
"""Annotation on pod or owner: roles that should not share a bucket, same syntax."""

TOPOLOGY_KEY: Final = "shuntyard.io/topology-key"
"""Annotation on pod or owner: node label whose values are the buckets' places; else the node."""

METRICS: Final = "shuntyard.io/metrics"
"""Annotation on pod or owner: where and how to read progress (``shared.places``)."""

CHECKPOINT: Final = "shuntyard.io/checkpoint"
"""Annotation: checkpoint directory on the volume. On owner or pod template it lets us move, suspend
and shrink the job."""

WORKERS: Final = "shuntyard.io/workers"
"""Annotation on owner or pod template: ``min..max``, between which its workers may change."""

SHRINK: Final = "shuntyard.io/shrink"
"""Annotation on owner or pod template: how workers leave, ``checkpoint`` (asked first) or
``terminate``."""

UTILITY: Final = "shuntyard.io/utility"
"""Annotation on owner or pod template: what completing is worth, ``sigmoid:…`` or ``steps:…``."""

TRAINING: Final = "shuntyard.io/training"
"""Annotation on owner or pod template: epochs, chunks, batches, step seconds and gradient size."""

ON_HANG: Final = "shuntyard.io/on-hang"
"""Annotation on owner or pod template: what is done when the training hangs, ``restart`` or
``restart-without-checkpoint``."""

PREEMPTIBLE: Final = "shuntyard.io/preemptible"
"""Annotation on owner or pod template: how its running job may be parked for another: after a
``checkpoint``, by ``terminate`` alone, or ``never``."""

PARK: Final = "shuntyard.io/park"
"""Annotation on the owner alone: ``true`` parks its job until it is removed."""

MOVE: Final = "shuntyard.io/move"
"""Annotation on the owner alone: its job goes on elsewhere. Names of the nodes that it leaves,
separated by commas, or ``*`` for all of its nodes. The extender removes it when the job saves."""

OF_OWNER: Final = frozenset(
    {CHECKPOINT, WORKERS, SHRINK, UTILITY, TRAINING, ON_HANG, PREEMPTIBLE, PARK, MOVE}
)
"""Keys that make us write to an owner: they are read from the owner object, its annotations and its
pod template. A pod's own annotation does not count: its author may have no right to change the
owner, and chooses the pod's name, labels and controller reference."""

RESCALE: Final = "shuntyard.io/rescale"
"""Annotation on the owner: the change of its workers that is under way, or was the last. Ours."""

SLOT_PLAN: Final = "shuntyard.io/slot-plan"
"""Annotation on the owner: how many workers run where in which time slot. Ours."""

PROFILE: Final = "shuntyard.io/profile"
"""Annotation on the owner: the run in which agents measure a job's training, and its result. Ours.
"""

HANG_RESTARTS: Final = "shuntyard.io/hang-restarts"
"""Annotation on the owner: how often its job was restarted because it hung, and when. Ours."""

DRAIN_BUDGET: Final = "shuntyard.io/drain-budget"
"""Label of our PodDisruptionBudgets, by which drains wait for checkpoints. Ours."""

LEAVING: Final = "shuntyard.io/leaving"
"""Annotation on the Node: its jobs are to save and leave; the time by which, RFC 3339, or anything
else where that is unknown."""

PARKING: Final = "shuntyard.io/parking"
"""Annotation on the owner: its job is parked, or was, and what its pods need to come back. Ours."""

NODE: Final = "shuntyard.io/node"
"""Annotation on the pod: planned node. Ours; read-only for users."""

PLAN: Final = "shuntyard.io/plan"
"""Annotation on the pod: id of the plan that released it, with all that it released together."""

PLAN_SIZE: Final = "shuntyard.io/plan-size"
"""Annotation on the pod: how many pods that plan released together."""

DECISION: Final = "shuntyard.io/decision"
"""Annotation: the decision behind the planned node, one line of JSON; the Binding repeats it."""

DIRECT: Final = "shuntyard.io/direct"
"""Annotation on the pod: ``true`` if it is reserved and never had our gate, so no pin. Ours."""

RESERVATION_SIGNATURE: Final = "shuntyard.io/seat-signature"
"""Annotation on the pod: that node, plan, size of the plan and ``direct`` are ours."""

RESERVATION: Final = frozenset({NODE, PLAN, PLAN_SIZE, DECISION, DIRECT, RESERVATION_SIGNATURE})
"""The annotations of a pod's reservation: its node, its plan and the decision behind it."""

RESCALE_SIGNATURE: Final = "shuntyard.io/rescale-signature"
SLOT_PLAN_SIGNATURE: Final = "shuntyard.io/slot-plan-signature"
PROFILE_SIGNATURE: Final = "shuntyard.io/profile-signature"
HANG_RESTARTS_SIGNATURE: Final = "shuntyard.io/hang-restarts-signature"
PARKING_SIGNATURE: Final = "shuntyard.io/parking-signature"
"""Annotations on the owner: that the records beside them are ours."""

RECORDS: Final = {
    RESCALE: RESCALE_SIGNATURE,
    SLOT_PLAN: SLOT_PLAN_SIGNATURE,
    PROFILE: PROFILE_SIGNATURE,
    HANG_RESTARTS: HANG_RESTARTS_SIGNATURE,
    PARKING: PARKING_SIGNATURE,
}
"""Our records on owners, and the signature of each."""

SPEC_SIGNATURE: Final = "shuntyard.io/spec-signature"
"""Annotation on the Migration: that its spec is ours."""

SIMULATED_DURATION: Final = "shuntyard.io/simulated-duration"
"""Annotation on the pod: how long a kwok node of the devcluster lets it run, e.g. ``30s``."""

MIGRATION: Final = "shuntyard.io/migration"
"""Annotation: ``namespace/name`` of the Migration; on a pod that we made in place of a migrated
one, and on a Job while we keep it suspended."""

CPU_GIVEN: Final = "shuntyard.io/cpu-given"
"""Annotation on the pod: container and CPU request that its owner gave, while we have changed it,
e.g. ``main=500m`` (``shared.objects.pod_cpu``). Ours."""

GENERATION: Final = "shuntyard.io/generation"
"""Annotation on the pod: number of its job's start, which the Binding writes. Ours."""

REPLACED_BY: Final = "shuntyard.io/replaced-by"
"""Annotation on a bare pod that we are about to delete: name of its copy. Ours."""

REPLACES: Final = "shuntyard.io/replaces"
"""Annotation on the copy of a bare pod: ``uid/name`` of that pod, for whose end it waits. Ours."""

PROVISIONAL: Final = "shuntyard.io/provisional"
"""Annotation on such a copy: we have not sent the deletion of that pod. If the pod goes, another
client has deleted it, and the copy goes too. Ours."""

LAST_CHECKPOINT_STEP: Final = "shuntyard.io/last-checkpoint-step"
"""Annotation on the pod that saves for its job: completed steps in the last checkpoint. Ours."""

LAST_CHECKPOINT_TIME: Final = "shuntyard.io/last-checkpoint-time"
"""Annotation beside it: when that checkpoint was complete, RFC 3339. Ours."""

RESERVED: Final = frozenset(
    {
        *(*RESERVATION, *RECORDS, *RECORDS.values()),
        *(SPEC_SIGNATURE, MIGRATION, CPU_GIVEN, REPLACED_BY, REPLACES, PROVISIONAL),
        *(LAST_CHECKPOINT_STEP, LAST_CHECKPOINT_TIME, GENERATION),
    }
)
"""The annotations that only the extender writes (deploy/base/our-keys.yaml)."""

QUEUED_CONDITION: Final = "shuntyard.io/Queued"
"""Condition type on gated pods: why the job waits."""

LONGEST_VALUE: Final = 63
"""Characters that the value of a label may have."""

HOSTNAME_LABEL: Final = "kubernetes.io/hostname"
ZONE_LABEL: Final = "topology.kubernetes.io/zone"
ZONES: Final = frozenset(
    f"{domain}/{area}"
    for domain in ("topology.kubernetes.io", "failure-domain.beta.kubernetes.io")
    for area in ("zone", "region")
)
"""Labels of a PersistentVolume that kube-scheduler's VolumeZone compares with the node's."""

JOB_NAME_LABEL: Final = "batch.kubernetes.io/job-name"
JOB_INDEX_LABEL: Final = "batch.kubernetes.io/job-completion-index"
INDEX_FAILURES: Final = "batch.kubernetes.io/job-index-failure-count"
KUEUE_QUEUE: Final = "kueue.x-k8s.io/queue-name"
STATEFULSET_INDEX_LABEL: Final = "apps.kubernetes.io/pod-index"
POD_TEMPLATE_HASH: Final = "pod-template-hash"
POD_DELETION_COST: Final = "controller.kubernetes.io/pod-deletion-cost"
TRAINING_JOB_NAME: Final = "training.kubeflow.org/job-name"
TRAINING_REPLICA_TYPE: Final = "training.kubeflow.org/replica-type"
TRAINING_REPLICA_INDEX: Final = "training.kubeflow.org/replica-index"
TRAINING_OPERATOR_NAME: Final = "training.kubeflow.org/operator-name"

LABEL_KEYS: Final = frozenset({JOB, ROLE, DRAIN_BUDGET})
"""Keys of ours that count as labels; all others are annotations."""

NAMESPACE_KEYS: Final = frozenset({USER_PRIORITY, WEIGHT, GUARANTEED_SHARE, BORROWING_LIMIT})
"""Keys of ours that count on a Namespace or ResourceQuota alone."""

NODE_KEYS: Final = frozenset({LEAVING})
"""Keys of ours that count on a Node alone."""

KEYS: Final = frozenset(
    value
    for value in tuple(globals().values())
    if isinstance(value, str) and value.startswith(f"{DOMAIN}/")
) - {GATE, QUEUED_CONDITION}
"""Every label and annotation of our domain."""
