"""What a user of the chart can set: default, type, meaning, and where in the manifests it goes."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from release.chart.merging import Form

MANIFEST: Final = object()
"""The default is what the manifests have there."""

Schema = Mapping[str, Any]
TEXT: Final[Schema] = {"type": "string"}
NAME: Final[Schema] = {"type": "string", "minLength": 1}
SWITCH: Final[Schema] = {"type": "boolean"}
MAPPING: Final[Schema] = {"type": "object"}
TEXTS: Final[Schema] = {"type": "object", "additionalProperties": {"type": "string"}}
NAMES: Final[Schema] = {"type": "array", "items": {"type": "string", "minLength": 1}}
OBJECTS: Final[Schema] = {"type": "array", "items": {"type": "object"}}


@dataclass(frozen=True)
class Place:
    """Where a value goes.

    Attributes:
        kind: Of the objects.
        name: Of the objects; "*" for all of the kind.
        path: Fields with dots between them; ``containers[NAME]`` is the item of that name.
        form: How the value is printed.
        text: Template text or expression; "" for the value itself.
    """

    kind: str
    name: str
    path: str
    form: Form = Form.BLOCK
    text: str = ""


@dataclass(frozen=True)
class Value:
    """One value of the chart.

    Attributes:
        path: Its key in values.yaml, with dots.
        meaning: For the reader of values.yaml and of the chart's README, one or two sentences.
        schema: JSON schema of what is accepted.
        default: What is used if the user sets nothing; `MANIFEST`: as in the manifests.
        places: Where it goes; none if a template that is written by hand reads it.
    """

    path: str
    meaning: str
    schema: Schema
    default: Any = MANIFEST
    places: tuple[Place, ...] = ()

    @property
    def expression(self) -> str:
        """The value in a template; ``$`` works inside ``with`` and ``range`` too."""
        return f"$.Values.{self.path}"


_EXTENDER: Final = ("Deployment", "shuntyard-extender")
_AGENT: Final = ("DaemonSet", "shuntyard-agent")
_POD: Final = "spec.template.spec"
_METADATA: Final = "spec.template.metadata"
_DIGEST: Final[Schema] = {"type": "string", "pattern": "^(sha256:[0-9a-f]{64})?$"}
_PULL: Final[Schema] = {"enum": ["Always", "IfNotPresent", "Never"]}


def _called(container: str) -> str:
    return container if container == "kube-scheduler" else f"the {container}"


def _image(
    program: str, container: str, of: tuple[str, str], repository: str, tag: str
) -> tuple[Value, ...]:
    place = f"{_POD}.containers[{container}]"
    text = f'{{{{ include "shuntyard.image" (list $ $.Values.{program}.image) }}}}'
    if program == "kubeScheduler":
        text = '{{ include "shuntyard.kubeSchedulerImage" $ }}'
    return (
        Value(
            f"{program}.image.repository",
            f"Image of {_called(container)}, without tag.",
            NAME,
            repository,
            (Place(*of, f"{place}.image", Form.INLINE, text),),
        ),
        Value(f"{program}.image.tag", f"Its tag; empty: {tag}.", TEXT, ""),
        Value(
            f"{program}.image.digest",
            "`sha256:…`, used instead of the tag: a tag can be moved to another image.",
            _DIGEST,
            "",
        ),
        Value(
            f"{program}.image.pullPolicy",
            "When nodes pull it.",
            _PULL,
            places=(
                Place(
                    *of,
                    f"{place}.imagePullPolicy",
                    Form.INLINE,
                    f"{{{{ $.Values.{program}.image.pullPolicy }}}}",
                ),
            ),
        ),
    )


def _resources(program: str, container: str, of: tuple[str, str]) -> Value:
    places = (Place(*of, f"{_POD}.containers[{container}].resources"),)
    return Value(
        f"{program}.resources",
        f"Requests and limits of {_called(container)}.",
        MAPPING,
        places=places,
    )


def _settings(program: str, config_map: str, file: str, page: str) -> Value:
    place = Place(
        "ConfigMap",
        config_map,
        f"data.{file}",
        Form.LITERAL,
        f'include "shuntyard.{program}.settings" $',
    )
    return Value(
        f"{program}.settings",
        f"Settings that differ from the shipped ones, merged into them ({page}). "
        "A change restarts the pods.",
        MAPPING,
        {},
        (place,),
    )


def _pods(program: str, of: tuple[str, str]) -> tuple[Value, ...]:
    return (
        Value(
            f"{program}.nodeSelector",
            "Labels of the nodes that its pods may run on.",
            TEXTS,
            {},
            (Place(*of, f"{_POD}.nodeSelector", Form.OPTIONAL),),
        ),
        Value(
            f"{program}.tolerations",
            "Taints that its pods tolerate.",
            OBJECTS,
            places=(Place(*of, f"{_POD}.tolerations"),),
        ),
        Value(
            f"{program}.podLabels",
            "More labels of its pods.",
            TEXTS,
            {},
            (Place(*of, f"{_METADATA}.labels.*", Form.SPREAD),),
        ),
        Value(
            f"{program}.podAnnotations",
            "More annotations of its pods.",
            TEXTS,
            {},
            (Place(*of, f"{_METADATA}.annotations.*", Form.SPREAD),),
        ),
        Value(
            f"{program}.priorityClassName",
            "PriorityClass of its pods.",
            NAME,
            places=(
                Place(
                    *of,
                    f"{_POD}.priorityClassName",
                    Form.INLINE,
                    f"{{{{ $.Values.{program}.priorityClassName }}}}",
                ),
            ),
        ),
    )


VALUES: Final = (
    *_image("extender", "extender", _EXTENDER, "shuntyard-extender", "the chart's appVersion"),
    Value(
        "extender.replicas",
        "Pods of the scheduler, each with an extender and a kube-scheduler. One of them leads.",
        {"type": "integer", "minimum": 1},
        places=(
            Place(*_EXTENDER, "spec.replicas", Form.INLINE, "{{ $.Values.extender.replicas }}"),
        ),
    ),
    _resources("extender", "extender", _EXTENDER),
    _settings("extender", "shuntyard-extender", "extender.yaml", "docs/reference/settings.md"),
    *_pods("extender", _EXTENDER),
    *_image(
        "kubeScheduler",
        "kube-scheduler",
        _EXTENDER,
        "registry.k8s.io/kube-scheduler",
        "the cluster's version",
    ),
    _resources("kubeScheduler", "kube-scheduler", _EXTENDER),
    _settings(
        "kubeScheduler", "shuntyard-scheduler", "scheduler.yaml", "KubeSchedulerConfiguration"
    ),
    *_image("agent", "agent", _AGENT, "shuntyard-agent", "the chart's appVersion"),
    _resources("agent", "agent", _AGENT),
    _settings("agent", "shuntyard-agent", "agent.yaml", "docs/reference/agent-settings.md"),
    *_pods("agent", _AGENT),
    Value(
        "imagePullSecrets",
        "Secrets of registries, `{name: …}`, in both namespaces.",
        OBJECTS,
        [],
        (
            Place(*_EXTENDER, f"{_POD}.imagePullSecrets", Form.OPTIONAL),
            Place(*_AGENT, f"{_POD}.imagePullSecrets", Form.OPTIONAL),
        ),
    ),
    Value(
        "storage.kind",
        "The volume for metrics and checkpoints. `existing`: a `ReadWriteMany` claim "
        "`shuntyard-volume` that you make in `shuntyard-agents`; `nfs`: a server; `directory`: a "
        "directory of each node, for a try.",
        {"enum": ["existing", "nfs", "directory"]},
        "existing",
    ),
    Value("storage.nfs.server", "Server of `nfs`; you must set it.", TEXT, ""),
    Value("storage.nfs.path", "Exported directory of `nfs`.", TEXT, "/export/shuntyard"),
    Value("storage.nfs.mountOptions", "Mount options of `nfs`.", NAMES, ["nfsvers=4.1", "hard"]),
    Value("storage.directory.path", "Directory of `directory`.", NAME, "/var/lib/shuntyard/volume"),
    Value(
        "storage.namespaces",
        "Namespaces that get a claim `shuntyard-volume` for their jobs (`nfs`, `directory`).",
        NAMES,
        ["default"],
    ),
    Value(
        "gate.enabled",
        "Add the scheduling gate to pods that name the scheduler `shuntyard`, while jobs lack "
        "room, so that they wait in its queue. `auto`: if the cluster can (Kubernetes 1.36 and "
        "later).",
        {"enum": ["auto", True, False]},
        "auto",
    ),
    Value(
        "attached.enabled",
        "Only the extender, for a kube-scheduler that runs elsewhere and has only Shuntyard's "
        "profiles (docs/tls.md).",
        SWITCH,
        False,
    ),
    Value(
        "attached.user",
        "User of that kube-scheduler at the API server.",
        NAME,
        "system:kube-scheduler",
    ),
    Value(
        "certManager.enabled",
        "Certificates from cert-manager; without it the replicas make their own.",
        SWITCH,
        False,
    ),
    Value(
        "criticalQuota.enabled",
        "Quotas for critical pods, without which some providers (GKE) refuse them.",
        SWITCH,
        False,
    ),
    Value(
        "monitoring.enabled",
        "ServiceMonitor, PodMonitor, alerts and dashboards, for the Prometheus operator.",
        SWITCH,
        False,
    ),
    Value(
        "monitoring.labels",
        "More labels of these objects: those that your Prometheus selects, for example "
        "`{release: prometheus}`.",
        TEXTS,
        {},
        tuple(
            Place(kind, "*", "metadata.labels.*", Form.SPREAD)
            for kind in ("PodMonitor", "PrometheusRule", "ServiceMonitor")
        ),
    ),
    Value(
        "networkPolicies.enabled", "Network policies of the extender and the agents.", SWITCH, True
    ),
    Value(
        "namespaces.create",
        "Make the namespaces `shuntyard-system` and `shuntyard-agents`. The one that the release "
        "is in is left to Helm (`--create-namespace`).",
        SWITCH,
        True,
    ),
    Value("crds.enabled", "Install the CustomResourceDefinition of Migrations.", SWITCH, True),
    Value(
        "crds.keep",
        "Keep it, and so the ledger of migrations, when the release is removed.",
        SWITCH,
        False,
    ),
    Value("viewers.groups", "Groups that may use the command `shuntyard`.", NAMES, []),
    Value("viewers.users", "Users that may use it.", NAMES, []),
)
"""In the order of values.yaml."""
