"""Options of a cluster."""

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from devcluster.programs.versions import DEFAULT_KUBERNETES
from shared.errors import InputError

_KINDS: Final = frozenset({"kwok", "process", "real"})
_EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")


class Schedulers(enum.StrEnum):
    """The schedulers that ``up`` starts."""

    NONE = "none"
    DEFAULT = "default"
    SHUNTYARD = "shuntyard"
    BOTH = "both"

    @property
    def default(self) -> bool:
        """Whether the plain kube-scheduler runs."""
        return self in {Schedulers.DEFAULT, Schedulers.BOTH}

    @property
    def shuntyard(self) -> bool:
        """Whether our kube-scheduler and the extender run."""
        return self in {Schedulers.SHUNTYARD, Schedulers.BOTH}


@dataclass(frozen=True, slots=True)
class Taint:
    """A taint of a node."""

    key: str
    value: str
    effect: str

    @classmethod
    def parse(cls, text: str) -> "Taint":
        """Read ``key=value:Effect`` or ``key:Effect``.

        Raises:
            InputError: The text has another form.
        """
        pair, colon, effect = text.rpartition(":")
        key, _, value = pair.partition("=")
        if not colon or not key or effect not in _EFFECTS:
            expected = f"KEY=VALUE:EFFECT with an effect of {', '.join(_EFFECTS)}"
            raise InputError("taint", text, expected)
        return cls(key, value, effect)


@dataclass(frozen=True, slots=True)
class KwokNodes:
    """Fake nodes, all alike; kwok simulates their pods.

    Args:
        count: How many.
        cpu: Kubernetes quantity, of each.
        memory: Kubernetes quantity, of each.
        pods: Pods that fit on each.
        extended: Further resources of each, e.g. ``{"nvidia.com/gpu": "8"}``.
        labels: Labels of each, beside ``kubernetes.io/hostname``.
        taints: Taints of each.
        prefix: Names are ``<prefix>-0000``, ``<prefix>-0001``, …
        first: Number of the first one.
    """

    count: int
    cpu: str = "16"
    memory: str = "64Gi"
    pods: int = 110
    extended: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    prefix: str = "kwok"
    first: int = 0

    def names(self) -> tuple[str, ...]:
        """Return the nodes' names."""
        return tuple(
            f"{self.prefix}-{number:04d}" for number in range(self.first, self.first + self.count)
        )


@dataclass(frozen=True, slots=True)
class ProcessNodes:
    """Nodes whose containers are processes of this machine, all alike.

    Args:
        count: How many.
        cpu: Kubernetes quantity that each offers.
        memory: Kubernetes quantity that each offers.
        prefix: Names are ``<prefix>-0000``, ``<prefix>-0001``, …
    """

    count: int
    cpu: str = "8"
    memory: str = "16Gi"
    prefix: str = "process"

    def names(self) -> tuple[str, ...]:
        """Return the nodes' names."""
        return tuple(f"{self.prefix}-{number:04d}" for number in range(self.count))


@dataclass(frozen=True, slots=True)
class RealNodes:
    """Nodes with a kubelet and containers of their own, all alike (`devcluster.real_nodes`).

    They share this machine's cores and memory: allocatable is a number, not a limit.

    Args:
        count: How many.
        cpu: Kubernetes quantity that each offers; at most what the machine has.
        memory: Kubernetes quantity that each offers; at most what the machine has.
        pods: Pods that fit on each.
        prefix: Names are ``<prefix>-0000``, ``<prefix>-0001``, …
        first: Number of the first one.
    """

    count: int
    cpu: str = "1"
    memory: str = "4Gi"
    pods: int = 30
    prefix: str = "real"
    first: int = 0

    def numbers(self) -> range:
        """Return the nodes' numbers."""
        return range(self.first, self.first + self.count)

    def names(self) -> tuple[str, ...]:
        """Return the nodes' names."""
        return tuple(f"{self.prefix}-{number:04d}" for number in self.numbers())


@dataclass(frozen=True, slots=True)
class ClusterOptions:
    """Components that ``up`` starts beside etcd, kube-apiserver and kube-controller-manager.

    Args:
        kubernetes: Version without ``v``.
        kwok: Fake nodes; None for none.
        process: Process nodes; None for none.
        real: Nodes with real containers; None for none, and none can be added later.
        schedulers: Which schedulers.
        settings: Settings of the extender that differ from its defaults.
        replicas: Pairs of our kube-scheduler and extender; more than one needs root.
        agents: Run an agent on every process node; needs both schedulers.
        node_monitor_grace_seconds: A node is NotReady after so long without a heartbeat; kwok
            renews its nodes' Leases in time. Large values make idle nodes cheap.
        device_taint_rules: The API server serves DeviceTaintRules, which are off before 1.37.
        eviction_requests: The API server serves the Eviction Request API, alpha in 1.37.
        in_tree_gangs: The API server serves Kubernetes' own gangs, which are off by default.
        mutating_policies: It serves MutatingAdmissionPolicies also before 1.36.
        record_api_calls: The API server records the calls of our programs (`devcluster.rights`).
    """

    kubernetes: str = DEFAULT_KUBERNETES
    kwok: KwokNodes | None = None
    process: ProcessNodes | None = None
    real: RealNodes | None = None
    schedulers: Schedulers = Schedulers.NONE
    settings: Mapping[str, Any] = field(default_factory=dict)
    replicas: int = 1
    agents: bool = False
    node_monitor_grace_seconds: int = 50
    in_tree_gangs: bool = False
    device_taint_rules: bool = False
    eviction_requests: bool = False
    mutating_policies: bool = False
    record_api_calls: bool = False


def parse_node_counts(text: str) -> Mapping[str, int]:
    """Read ``kwok:1000,process:3,real:2``.

    Raises:
        InputError: A kind is unknown, named twice, or its count is not a positive integer.
    """
    counts: dict[str, int] = {}
    for part in filter(None, text.split(",")):
        kind, _, number = part.partition(":")
        if kind not in _KINDS or kind in counts or not number.isdecimal():
            raise InputError("nodes", text, "of the form kwok:1000,process:3,real:2")
        counts[kind] = int(number)
    return {kind: count for kind, count in counts.items() if count > 0}
