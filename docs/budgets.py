"""The budgets of docs/reference/budgets.md: what others can make our programs keep and compute.

Each row names the constant or setting that holds the number, so that the page cannot say another
one. A name is ``module:CONSTANT`` or ``program setting section.key``.
"""  # noqa: INP001 - beside a script, no package

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Budget:
    """One bound.

    Attributes:
        name: Where the number is.
        unit: Of the number; empty where it counts things.
        bounds: What is bounded.
        beyond: What happens beyond it.
        test: The test that sends more.
    """

    name: str
    unit: str
    bounds: str
    beyond: str
    test: str


@dataclass(frozen=True)
class Group:
    """The budgets of one place."""

    title: str
    about: str
    budgets: tuple[Budget, ...]


CROWD: Final = "tests/hostile/test_crowd.py"
AGENT: Final = "tests/hostile/test_agent_bounds.py"
HISTORY: Final = "tests/unit/agent/parsing/test_trainer_state.py"
PATTERNS: Final = "tests/hostile/test_patterns.py"

_AGENT: Final = Group(
    "The agent",
    "Whoever runs a pod writes its logs and files, and its annotations say how to read them. The "
    "container may have 128 MiB.",
    (
        Budget(
            "agent.budgets:NODE_MEMORY_BYTES",
            "bytes",
            "readings of all pods of the node",
            "the pod that keeps most loses its largest source, and its report says so",
            CROWD,
        ),
        Budget(
            "agent.budgets:POD_MEMORY_BYTES",
            "bytes",
            "readings of one pod",
            "its largest source is read no more",
            CROWD,
        ),
        Budget(
            "agent.budgets:POD_CPU_RATIO",
            "of a core",
            "reading one pod's metrics",
            "the pod waits",
            CROWD,
        ),
        Budget(
            "agent.budgets:POD_TURN_SECONDS",
            "s of CPU",
            "one reading of a pod",
            "the rest waits for the next reading",
            CROWD,
        ),
        Budget(
            "agent.budgets:POD_SLICE_SECONDS",
            "s of CPU",
            "lines of one part of a file",
            "the rest of the part is skipped and counted",
            CROWD,
        ),
        Budget(
            "agent.budgets:POD_BURST_SECONDS",
            "s of CPU",
            "what a quiet pod may save up",
            "the pod waits",
            CROWD,
        ),
        Budget(
            "agent.budgets:POD_EVENTS",
            "",
            "events of one pod in a reading",
            "further ones are dropped",
            AGENT,
        ),
        Budget(
            "agent.tailing.whole_file:MOST_BYTES",
            "bytes",
            "a file that is read as a whole",
            "refused, with the reason",
            HISTORY,
        ),
        Budget(
            "agent.parsing.json_scan:MOST_DEPTH",
            "levels",
            "nesting of trainer_state.json",
            "refused, with the reason",
            HISTORY,
        ),
        Budget(
            "agent.parsing.json_scan:MOST_BRACKETS",
            "",
            "brackets of trainer_state.json",
            "refused, with the reason",
            HISTORY,
        ),
        Budget(
            "agent.parsing.trainer_state:MOST_ENTRIES",
            "",
            "entries of its history that are kept",
            "the oldest are dropped",
            HISTORY,
        ),
        Budget(
            "agent.parsing.trainer_state:LONGEST_ENTRY",
            "bytes",
            "one entry",
            "passed over",
            HISTORY,
        ),
        Budget(
            "agent.parsing.names:MOST_METRICS",
            "",
            "metric names of one parser",
            "further names are ignored",
            AGENT,
        ),
        Budget(
            "agent.parsing.jsonl:MOST_KEYS",
            "",
            "numbers of one line of JSON",
            "the rest is ignored",
            AGENT,
        ),
        Budget(
            "agent.parsing.tfevents:MOST_RECORD_BYTES",
            "bytes",
            "one record of an event file",
            "passed over",
            AGENT,
        ),
        Budget(
            "agent.parsing.patterns:LONGEST_PATTERN",
            "characters",
            "a user's regular expression",
            "refused by the annotation's name",
            PATTERNS,
        ),
        Budget(
            "agent.parsing.patterns:MOST_INSTRUCTIONS",
            "",
            "its size when compiled",
            "refused by the annotation's name",
            PATTERNS,
        ),
        Budget(
            "agent.parsing.patterns:PATTERN_BYTES",
            "bytes",
            "memory of its search",
            "refused by the annotation's name",
            PATTERNS,
        ),
        Budget(
            "agent.parsing.custom:LONGEST_LINE",
            "characters",
            "of a line that it searches",
            "the rest is not searched",
            PATTERNS,
        ),
        Budget(
            "agent.tailing.volume:MOST_NAMES",
            "",
            "names of a directory on the volume",
            "listed in part, and the report says so",
            AGENT,
        ),
        Budget(
            "agent.tailing.volume:MOST_FILES",
            "",
            "files that a pattern may match",
            "the first are read",
            AGENT,
        ),
        Budget(
            "agent.tailing.volume:MOST_WILDCARDS",
            "",
            "wildcards of a part of a path",
            "refused by the annotation's name",
            AGENT,
        ),
        Budget(
            "shared.places:LONGEST_ANNOTATION",
            "characters",
            "the annotations `metrics` and `checkpoint`",
            "refused by the annotation's name",
            AGENT,
        ),
        Budget(
            "agent.reporting.bodies:MOST_TEXT_BYTES", "bytes", "a text in a heartbeat", "cut", AGENT
        ),
        Budget(
            "shared.wire:MOST_EVENTS",
            "",
            "events in a heartbeat",
            "the oldest of the pod with the most are dropped",
            AGENT,
        ),
        Budget(
            "agent.replicas.client:MOST_ANSWER_BYTES",
            "bytes",
            "an answer of the extender",
            "refused",
            AGENT,
        ),
        Budget(
            "agent.sampling.groups:MOST_DIRECTORIES",
            "",
            "control groups that are looked at",
            "the rest is not sampled",
            AGENT,
        ),
    ),
)

_CLI: Final = Group(
    "The command line",
    "A kubeconfig's plugin and a manifest come from others.",
    (
        Budget(
            "shared.kube.plugin_process:PLUGIN_SECONDS",
            "s",
            "a credential plugin without a terminal",
            "it is ended",
            "tests/unit/kube/test_exec_plugin.py",
        ),
        Budget(
            "shared.kube.plugin_process:MOST_OUTPUT_BYTES",
            "bytes",
            "what it prints",
            "refused",
            "tests/unit/kube/test_exec_plugin.py",
        ),
        Budget(
            "cli.dry_run.checking:MOST_OBJECTS",
            "",
            "objects that the API server checks",
            "the rest is not checked, and the answer says so",
            "tests/unit/cli/test_dry_run.py",
        ),
        Budget(
            "cli.dry_run.checking:MOST_TEMPLATES",
            "",
            "pod templates likewise",
            "as above",
            "tests/unit/cli/test_dry_run.py",
        ),
    ),
)

MANIFESTS: Final = "tests/unit/http/test_manifest_limits.py"
TURNS: Final = "tests/unit/http/test_turnstile.py"
BODIES: Final = "tests/hostile/test_clients.py"
HEARTBEATS: Final = "tests/hostile/test_heartbeats.py"
CONNECTIONS: Final = "tests/component/test_connections.py"
READS: Final = "tests/component/test_reads_beside_the_loop.py"

_READS: Final = Group(
    "Reads and what-if",
    "Whoever reaches the read API may ask; who has no token gets no what-if.",
    (
        Budget(
            "extender.http.manifest_limits:MOST_PODS",
            "",
            "pods of a manifest, over all its objects",
            "400 before any is made",
            MANIFESTS,
        ),
        Budget(
            "extender.http.manifest_limits:MOST_SHAPES",
            "",
            "different pods of a manifest",
            "400 before any is made",
            MANIFESTS,
        ),
        Budget(
            "extender.http.manifest_limits:MOST_TRAITS",
            "",
            "labels, ports, terms of a pod",
            "400 before any is made",
            MANIFESTS,
        ),
        Budget(
            "extender.http.manifest_limits:MOST_TRAITS_IN_ALL",
            "",
            "the same of all pods together",
            "400 before any is made",
            MANIFESTS,
        ),
        Budget(
            "extender.http.threads:ANSWER_SECONDS",
            "s",
            "work on one answer",
            "422, which says so",
            READS,
        ),
        Budget(
            "extender.http.threads:MOST_WAITING",
            "",
            "questions that wait for a thread",
            "429, with Retry-After",
            TURNS,
        ),
        Budget(
            "extender.http.turnstile:MOST_LONG",
            "",
            "open what-if, explain and price questions",
            "429, with Retry-After",
            TURNS,
        ),
        Budget(
            "extender.http.turnstile:MOST_LONG_EACH",
            "",
            "the same of one caller",
            "429, with Retry-After",
            TURNS,
        ),
        Budget(
            "extender.http.turnstile:MOST_SHORT",
            "",
            "other open questions",
            "429, with Retry-After",
            TURNS,
        ),
        Budget(
            "extender.http.turnstile:MOST_SHORT_EACH",
            "",
            "the same of one caller",
            "429, with Retry-After",
            TURNS,
        ),
        Budget(
            "extender.engine.explaining.pages:MOST_ENTRIES",
            "",
            "entries of a page of a list",
            "the rest is on the next page",
            READS,
        ),
        Budget(
            "extender.http.lately:MOST_KEPT",
            "",
            "answers that are kept for a second",
            "the oldest is dropped",
            TURNS,
        ),
        Budget(
            "extender setting api.most_connections",
            "",
            "connections",
            "the one that rests longest is ended",
            CONNECTIONS,
        ),
    ),
)

_HEARTBEATS: Final = Group(
    "Heartbeats",
    "An agent's token speaks for its node alone.",
    (
        Budget(
            "extender setting agents.most_body_bytes",
            "bytes",
            "a heartbeat, also when unpacked",
            "413",
            HEARTBEATS,
        ),
        Budget(
            "extender setting agents.most_connections",
            "",
            "connections",
            "the one that rests longest is ended",
            CONNECTIONS,
        ),
        Budget(
            "shared.wire:MOST_PODS",
            "",
            "pods in a heartbeat",
            "400, which names the field",
            HEARTBEATS,
        ),
    ),
)

KEPT: Final = "tests/unit/kube/test_kept_keys.py"
EXCESS: Final = "tests/unit/kube/test_excess.py"
LARGE_STORE: Final = "tests/component/test_log_of_a_large_store.py"
SELECTORS: Final = "tests/unit/test_label_selectors.py"

_OBJECTS: Final = Group(
    "Objects of the cluster",
    "Whoever may create a pod, or an owner of pods, chooses what it says. `Misconfigured` holds "
    "back that job alone.",
    (
        Budget(
            "shared.kube.kept_keys:COMMON.labels",
            "",
            "labels of a pod, group, namespace or owner",
            "`Misconfigured`",
            KEPT,
        ),
        Budget(
            "shared.kube.kept_keys:COMMON.label_bytes",
            "bytes",
            "the same, keys and values",
            "`Misconfigured`",
            KEPT,
        ),
        Budget(
            "shared.kube.kept_keys:COMMON.annotations",
            "",
            "annotations of it that something reads; others are not kept",
            "`Misconfigured`",
            KEPT,
        ),
        Budget(
            "shared.kube.kept_keys:COMMON.annotation_bytes",
            "bytes",
            "the same, keys and values",
            "`Misconfigured`",
            KEPT,
        ),
        Budget(
            "shared.kube.kept_keys:MOST_VALUE_BYTES",
            "bytes",
            "one annotation",
            "`Misconfigured`",
            KEPT,
        ),
        Budget(
            "shared.kube.kept_keys:OF_NODES.labels",
            "",
            "labels of a node",
            "those beyond are not kept",
            KEPT,
        ),
        Budget(
            "shared.kube.pod_templates:MOST_CHARACTERS",
            "characters",
            "a key of an owner's pod template",
            "cut, and refused by its grammar",
            "tests/unit/kube/test_pod_templates.py",
        ),
        Budget(
            "shared.label_selectors:MOST_LINES",
            "",
            "lines of an owner's selector",
            "it selects no pod",
            SELECTORS,
        ),
        Budget(
            "shared.label_selectors:MOST_VALUES",
            "",
            "values of a line of it",
            "it selects no pod",
            SELECTORS,
        ),
        Budget(
            "shared.kube.excess:MOST_TERMS",
            "",
            "node affinity terms of a pod",
            "`Misconfigured`",
            EXCESS,
        ),
        Budget(
            "shared.kube.excess:MOST_REQUIREMENTS",
            "",
            "requirements of all its terms",
            "`Misconfigured`",
            EXCESS,
        ),
        Budget(
            "shared.kube.excess:MOST_VALUES",
            "",
            "values of all its requirements",
            "`Misconfigured`",
            EXCESS,
        ),
        Budget(
            "shared.kube.excess:MOST_TOLERATIONS",
            "",
            "tolerations of a pod",
            "`Misconfigured`",
            EXCESS,
        ),
        Budget(
            "shared.kube.excess:MOST_HOST_PORTS",
            "",
            "host ports of a pod",
            "`Misconfigured`",
            EXCESS,
        ),
        Budget(
            "shared.kube.excess:MOST_RESOURCES",
            "",
            "resources that a pod asks for",
            "`Misconfigured`",
            EXCESS,
        ),
        Budget(
            "shared.kube.excess:MOST_CONTAINERS",
            "",
            "containers of a pod",
            "`Misconfigured`",
            EXCESS,
        ),
        Budget("shared.kube.excess:MOST_CLAIMS", "", "claims of a pod", "`Misconfigured`", EXCESS),
        Budget(
            "extender.engine.jobs:MOST_SHAPES",
            "",
            "different pods of a job",
            "`Misconfigured`",
            EXCESS,
        ),
        Budget(
            "extender.engine.key_warnings:MOST",
            "",
            "keys without effect that a job's Event names",
            "the rest is not named",
            "tests/unit/engine/test_key_warnings.py",
        ),
        Budget(
            "extender.engine.telling:MOST_POD_EVENTS",
            "",
            "pods of a job that get an Event of their own",
            "the others have the condition",
            "tests/unit/engine/test_telling.py",
        ),
    ),
)

_MEMORY: Final = Group(
    "The extender itself",
    "What grows with the cluster and its events.",
    (
        Budget(
            "extender.loops.schedule:SLICE_SECONDS",
            "s",
            "a slice of a cycle, ended between two jobs",
            "the event loop runs, then the next slice",
            "tests/component/test_long_cycles.py",
        ),
        Budget(
            "extender.state.classes:MOST_SHAPES",
            "",
            "classes of pods whose nodes are remembered",
            "the least used is worked out again",
            "tests/unit/state/test_classes.py",
        ),
        Budget(
            "extender setting decision_log.buffer_bytes",
            "bytes",
            "records that wait for the disk",
            "dropped, counted, alerted; the next segment opens anew",
            LARGE_STORE,
        ),
        Budget(
            "extender setting decision_log.segment_bytes",
            "bytes",
            "records of a segment",
            "the next segment begins",
            LARGE_STORE,
        ),
        Budget(
            "extender setting decision_log.segments",
            "",
            "segments on the disk",
            "the oldest is deleted",
            LARGE_STORE,
        ),
    ),
)

GROUPS: Final = (_AGENT, _OBJECTS, _READS, _HEARTBEATS, _MEMORY, _CLI)
