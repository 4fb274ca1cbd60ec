"""Labels and annotations of other projects that tell a pod's job and role.

Those of Kubernetes itself and of training-operator are in ``shared.labels``.

Source:
    The API packages of the projects, as named at each part; docs/kinds.md says what is read.
"""

from collections.abc import Mapping
from typing import Final

from shared import labels

TRAINING_JOB_ROLE: Final = "training.kubeflow.org/job-role"
"""Label of training-operator (``master``) and mpi-operator (``launcher``, ``worker``)."""
MPI_OPERATOR: Final = "mpi-operator"
"""What mpi-operator writes as operator name; it makes the launcher by a ``batch/v1`` Job."""

# volcano.sh/apis: scheduling/v1beta1/labels.go, batch/v1alpha1/labels.go
VOLCANO_GROUP: Final = "scheduling.k8s.io/group-name"
VOLCANO_GROUP_TOO: Final = "scheduling.volcano.sh/group-name"
VOLCANO_JOB: Final = "volcano.sh/job-name"
VOLCANO_TASK: Final = "volcano.sh/task-spec"
VOLCANO_TASK_INDEX: Final = "volcano.sh/task-index"
VOLCANO_MAX_WAIT: Final = "volcano.sh/sla-waiting-time"
VOLCANO_MAX_WAIT_TOO: Final = "sla-waiting-time"
VOLCANO_AFFINITY: Final = "volcano.sh/task-topology-affinity"
VOLCANO_ANTI_AFFINITY: Final = "volcano.sh/task-topology-anti-affinity"

# sigs.k8s.io/scheduler-plugins: apis/scheduling/v1alpha1/types.go
SCHEDULER_PLUGINS_GROUP: Final = "scheduling.x-k8s.io/pod-group"

# sigs.k8s.io/jobset: api/jobset/v1alpha2/jobset_types.go
JOBSET_NAME: Final = "jobset.sigs.k8s.io/jobset-name"
JOBSET_PART: Final = "jobset.sigs.k8s.io/replicatedjob-name"
JOBSET_PART_JOBS: Final = "jobset.sigs.k8s.io/replicatedjob-replicas"
JOBSET_JOBS: Final = "jobset.sigs.k8s.io/global-replicas"
JOBSET_JOB_INDEX: Final = "jobset.sigs.k8s.io/job-index"
JOBSET_EXCLUSIVE: Final = "alpha.jobset.sigs.k8s.io/exclusive-topology"
JOBSET_NODES_PREPARED: Final = "alpha.jobset.sigs.k8s.io/node-selector"

# sigs.k8s.io/lws: api/leaderworkerset/v1/leaderworkerset_types.go
LWS_NAME: Final = "leaderworkerset.sigs.k8s.io/name"
LWS_GROUP_INDEX: Final = "leaderworkerset.sigs.k8s.io/group-index"
LWS_WORKER_INDEX: Final = "leaderworkerset.sigs.k8s.io/worker-index"
LWS_SIZE: Final = "leaderworkerset.sigs.k8s.io/size"
LWS_EXCLUSIVE: Final = "leaderworkerset.sigs.k8s.io/exclusive-topology"

# github.com/ray-project/kuberay: ray-operator/controllers/ray/utils/constant.go
RAY_CLUSTER: Final = "ray.io/cluster"
RAY_NODE_TYPE: Final = "ray.io/node-type"

# github.com/koordinator-sh/koordinator: apis/extension/coscheduling.go
KOORDINATOR_GANG: Final = "gang.scheduling.koordinator.sh/name"
KOORDINATOR_MIN_AVAILABLE: Final = "gang.scheduling.koordinator.sh/min-available"
KOORDINATOR_GANGS: Final = "gang.scheduling.koordinator.sh/groups"

# github.com/apache/yunikorn-k8shim: pkg/common/constants/constants.go
YUNIKORN_APPLICATIONS: Final = ("yunikorn.apache.org/app-id", "applicationId")
YUNIKORN_TASK_GROUP: Final = "yunikorn.apache.org/task-group-name"
YUNIKORN_TASK_GROUPS: Final = "yunikorn.apache.org/task-groups"

# sigs.k8s.io/kueue: pkg/controller/jobs/pod/constants/constants.go
KUEUE_GROUP: Final = "kueue.x-k8s.io/pod-group-name"
KUEUE_GROUP_SIZE: Final = "kueue.x-k8s.io/pod-group-total-count"
KUEUE_GROUP_INDEX: Final = "kueue.x-k8s.io/pod-group-pod-index"
KUEUE_REQUIRED_TOPOLOGY: Final = "kueue.x-k8s.io/podset-required-topology"
KUEUE_PREFERRED_TOPOLOGY: Final = "kueue.x-k8s.io/podset-preferred-topology"
KUEUE_SLICE_REQUIRED_TOPOLOGY: Final = "kueue.x-k8s.io/podset-slice-required-topology"
KUEUE_SLICE_SIZE: Final = "kueue.x-k8s.io/podset-slice-size"
KUEUE_SLICE_LAYERS: Final = "kueue.x-k8s.io/podset-slice-required-topology-constraints"
KUEUE_PODSET_GROUP: Final = "kueue.x-k8s.io/podset-group-name"

SAME_AS: Final[Mapping[str, tuple[str, ...]]] = {
    labels.MAX_WAIT: (VOLCANO_MAX_WAIT, VOLCANO_MAX_WAIT_TOO),
    labels.AFFINITY: (VOLCANO_AFFINITY,),
    labels.ANTI_AFFINITY: (VOLCANO_ANTI_AFFINITY,),
}
"""Annotations that are read where ours is missing: same format, the first one wins."""
