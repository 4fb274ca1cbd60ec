"""Operators of other projects that can run beside a cluster, and how each is started."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

_NO_FILE: Final[Mapping[str, Any]] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """A project whose kinds can be installed, whether or not its program can be run here.

    Attributes:
        module: Go module.
        version: Of the module.
        definitions: Its CustomResourceDefinitions: a pattern of files within the module.
        collection: A collection that it serves; it is ready when objects can be created there.
    """

    module: str
    version: str
    definitions: str
    collection: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Operator(Project):
    """One operator.

    Attributes:
        name: Of its program.
        package: The Go package of the program, within the module.
        arguments: Of its program; ``{config}``, ``{kubeconfig}``, ``{port}``, the webhooks', and
            ``{place}``, the folder of their certificate, are filled in.
        config: Its configuration file, to which the webhooks' port and certificate are added;
            empty: none.
        webhooks: File of its webhook configurations, within the module; empty: none.
        objects: Objects to create before it starts: collection and manifest. Those of its own kinds
            come after its definitions.
        certificates: The fixed folder of its certificate; None: it can be configured.
        looks_for_webhooks: Whether it looks up its webhook configurations by name.
        published: Go modules, ``path@version``, that its go.mod takes from folders of its
            repository: those are not in the module.
    """

    name: str
    package: str
    arguments: tuple[str, ...]
    config: Mapping[str, Any] = field(default_factory=lambda: _NO_FILE)
    webhooks: str = ""
    objects: tuple[tuple[str, Mapping[str, Any]], ...] = ()
    certificates: Path | None = None
    looks_for_webhooks: bool = False
    published: tuple[str, ...] = ()


_NO_FIXED_PORTS: Final = {
    "metrics": {"bindAddress": "0"},
    "health": {"healthProbeBindAddress": "127.0.0.1:0"},
}
"""So that two operators can run beside each other."""
_CONTROLLER_RUNTIME: Final = Path("/tmp/k8s-webhook-server/serving-certs")  # noqa: S108 - its own
"""Default of controller-runtime."""


def _namespace(name: str) -> tuple[str, Mapping[str, Any]]:
    return "/api/v1/namespaces", {"metadata": {"name": name}}


JOB_SET: Final = Operator(
    name="jobset",
    module="sigs.k8s.io/jobset",
    version="v0.12.0",
    package=".",
    definitions="config/components/crd/bases/*.yaml",
    collection="/apis/jobset.x-k8s.io/v1alpha2/jobsets",
    arguments=("--config", "{config}", "--kubeconfig", "{kubeconfig}"),
    webhooks="config/components/webhook/manifests.yaml",
    config={
        "apiVersion": "config.jobset.x-k8s.io/v1alpha1",
        "kind": "Configuration",
        "leaderElection": {"leaderElect": False},
        "internalCertManagement": {"enable": False},
        **_NO_FIXED_PORTS,
    },
)
MPI_OPERATOR: Final = Operator(
    name="mpi-operator",
    module="github.com/kubeflow/mpi-operator",
    version="v0.6.0",
    package="./cmd/mpi-operator",
    definitions="manifests/base/kubeflow.org_*.yaml",
    collection="/apis/kubeflow.org/v2beta1/mpijobs",
    arguments=("--kubeConfig={kubeconfig}", "--lock-namespace=default", "--kube-api-qps=50"),
)
TRAINING_OPERATOR: Final = Operator(
    name="training-operator",
    module="github.com/kubeflow/training-operator",
    version="v1.9.3",
    package="./cmd/training-operator.v1",
    definitions="manifests/base/crds/kubeflow.org_*.yaml",
    collection="/apis/kubeflow.org/v1/pytorchjobs",
    arguments=(
        "--kubeconfig={kubeconfig}",
        "--webhook-server-port={port}",
        "--metrics-bind-address=0",
        "--health-probe-bind-address=127.0.0.1:0",
    ),
    webhooks="manifests/base/webhook/manifests.yaml",
    # it fills this Secret with its own certificates, and waits for the files
    objects=(
        _namespace("kubeflow"),
        (
            "/api/v1/namespaces/kubeflow/secrets",
            {"metadata": {"name": "training-operator-webhook-cert"}},
        ),
    ),
    certificates=_CONTROLLER_RUNTIME,
)
KUBERAY: Final = Operator(
    name="kuberay",
    module="github.com/ray-project/kuberay/ray-operator",
    version="v1.4.2",
    package=".",
    definitions="config/crd/bases/*.yaml",
    collection="/apis/ray.io/v1/rayclusters",
    arguments=(
        "--kubeconfig={kubeconfig}",
        "--enable-leader-election=false",
        "--metrics-addr=0",
        "--health-probe-bind-address=127.0.0.1:0",
    ),
)
LEADER_WORKER_SET: Final = Operator(
    name="lws",
    module="sigs.k8s.io/lws",
    version="v0.9.0",
    package="./cmd",
    definitions="config/crd/bases/*.yaml",
    collection="/apis/leaderworkerset.x-k8s.io/v1/leaderworkersets",
    arguments=("--config", "{config}", "--kubeconfig", "{kubeconfig}", "--leader-elect=false"),
    webhooks="config/webhook/manifests.yaml",
    config={
        "apiVersion": "config.lws.x-k8s.io/v1alpha1",
        "kind": "Configuration",
        "internalCertManagement": {"enable": False},
        **_NO_FIXED_PORTS,
    },
)
TRAINER: Final = Operator(
    name="trainer",
    module="github.com/kubeflow/trainer/v2",
    version="v2.2.1",
    package="./cmd/trainer-controller-manager",
    definitions="manifests/base/crds/trainer.kubeflow.org_*.yaml",
    collection="/apis/trainer.kubeflow.org/v1alpha1/trainjobs",
    arguments=("--config", "{config}", "--kubeconfig", "{kubeconfig}"),
    webhooks="manifests/base/webhook/manifests.yaml",
    config={
        "apiVersion": "config.trainer.kubeflow.org/v1alpha1",
        "kind": "Configuration",
        "certManagement": {"enable": False},
        "leaderElection": {"leaderElect": False},
        **_NO_FIXED_PORTS,
    },
    certificates=_CONTROLLER_RUNTIME,
)
"""It creates JobSets: run that operator beside it."""

_KUEUE_CERTIFICATES: Final = Path("/etc/kueue/metrics/certs")
"""Compiled into it, for its metrics: only root can put a certificate there."""

KUEUE: Final = Operator(
    name="kueue",
    module="sigs.k8s.io/kueue",
    version="v0.19.2",
    package="./cmd/kueue",
    definitions="config/components/crd/bases/*.yaml",
    collection="/apis/kueue.x-k8s.io/v1beta2/clusterqueues",
    arguments=("--config", "{config}", "--kubeconfig", "{kubeconfig}"),
    webhooks="config/components/webhook/manifests.yaml",
    config={
        "apiVersion": "config.kueue.x-k8s.io/v1beta2",
        "kind": "Configuration",
        "namespace": "kueue-system",
        "internalCertManagement": {"enable": False},
        "leaderElection": {"leaderElect": False},
        **_NO_FIXED_PORTS,
        "webhook": {"certDir": str(_KUEUE_CERTIFICATES)},
        "featureGates": {"VisibilityOnDemand": False},  # a server of its own, at a fixed port
        "integrations": {
            "frameworks": ["batch/job", "jobset.x-k8s.io/jobset", "pod", "statefulset"]
        },
    },
    objects=(_namespace("kueue-system"),),
    certificates=_KUEUE_CERTIFICATES,
)

VOLCANO: Final = Operator(
    name="volcano",
    module="volcano.sh/volcano",
    version="v1.14.1",
    package="./cmd/controller-manager",
    definitions="config/crd/*/bases/*.yaml",
    collection="/apis/batch.volcano.sh/v1alpha1/jobs",
    arguments=("--kubeconfig={kubeconfig}", "--leader-elect=false"),
    published=("volcano.sh/apis@v1.14.0",),
)
"""Of v1.15 the Go module proxy has no ``volcano.sh/apis``."""

VOLCANO_ADMISSION: Final = replace(
    VOLCANO,
    name="volcano-admission",
    package="./cmd/webhook-manager",
    arguments=(
        "--kubeconfig={kubeconfig}",
        "--listen-address=127.0.0.1",
        "--port={port}",
        "--tls-cert-file={place}/tls.crt",
        "--tls-private-key-file={place}/tls.key",
        "--ca-cert-file={place}/ca.crt",
        "--webhook-url=https://127.0.0.1:{port}",
        # those of its own manifests
        (
            "--enabled-admission=/jobs/mutate,/jobs/validate,/podgroups/validate,/queues/mutate,"
            "/queues/validate,/hypernodes/validate,/cronjobs/validate"
        ),
    ),
    webhooks="installer/volcano-development.yaml",
    looks_for_webhooks=True,
)
"""It sets defaults of Jobs, and refuses changes except of their numbers."""

VOLCANO_SCHEDULER: Final = replace(
    VOLCANO,
    name="volcano-scheduler",
    package="./cmd/scheduler",
    arguments=(*VOLCANO.arguments, "--cache-dumper=false"),
)
"""It creates the queue ``default``; the controllers create no pods before it admits a Job."""

OPERATORS: Final = {
    operator.name: operator
    for operator in (
        JOB_SET,
        MPI_OPERATOR,
        TRAINING_OPERATOR,
        KUBERAY,
        LEADER_WORKER_SET,
        TRAINER,
        KUEUE,
        VOLCANO,
        VOLCANO_ADMISSION,
        VOLCANO_SCHEDULER,
    )
}

CERT_MANAGER: Final = Project(
    module="github.com/cert-manager/cert-manager",
    version="v1.19.1",
    definitions="deploy/crds/cert-manager.io_*.yaml",
    collection="/apis/cert-manager.io/v1/issuers",
)
"""Its program is a module that is not published."""

PROMETHEUS_OPERATOR: Final = Project(
    module="github.com/prometheus-operator/prometheus-operator",
    version="v0.85.0",
    definitions="example/prometheus-operator-crd/monitoring.coreos.com_*s.yaml",
    collection="/apis/monitoring.coreos.com/v1/prometheusrules",
)
"""Our objects are tested with Prometheus itself."""
