"""Parameters of placement: gangs, scoring, node prices and topology."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Final

from annotated_types import Ge, Le, MinLen
from typing_extensions import Doc

from shared import labels
from shared.errors import InputError


@dataclass(frozen=True, kw_only=True)
class GangParameters:
    """How gangs are placed.

    Source:
        Du et al. 2023, Sect. 3.1 for ``spread_workers`` (optional there); ``spares`` is ours.
    """

    spares: Annotated[
        int,
        Ge(0),
        Le(8),
        Doc("Further nodes to which a pod is pinned, in case the planned node is lost."),
    ] = 2
    spread_workers: Annotated[
        bool, Doc("Whether workers of a job that declares relations avoid each other too.")
    ] = False


@dataclass(frozen=True)
class Level:
    """A level of the cluster's topology.

    Attributes:
        name: The name in annotations, such as ``rack``.
        label: The node label whose values are its domains.
        also: Further labels, for nodes that have not the ones before.
        unique: Its values are unique in the cluster: the levels above do not tell domains apart.
    """

    name: Annotated[str, MinLen(1)]
    label: Annotated[str, MinLen(1)]
    also: tuple[str, ...] = ()
    unique: bool = False

    @property
    def labels(self) -> tuple[str, ...]:
        """All its labels; of a node the first that it has counts."""
        return (self.label, *self.also)

    def on(self, labels_of_node: Mapping[str, str]) -> tuple[str, str] | None:
        """Return the label and its value that place a node; None if it has no such label."""
        key = next((key for key in self.labels if key in labels_of_node), None)
        return None if key is None else (key, labels_of_node[key])


@dataclass(frozen=True, kw_only=True)
class NodePriceParameters:
    """What the prices of nodes depend on besides the nodes.

    Source:
        Bao, Peng, Wu, Li, INFOCOM 2018, (22), (23), (25); the floor is ours. κ = U/L: 100 is the
        ratio of the largest to the smallest utility with the floor f_min ≥ f_max/100. (25)'s other
        factors make an empty cluster admit every job, and nothing is admitted here.
    """

    kappa: Annotated[
        float,
        Ge(10.0),
        Le(1e6),
        Doc("κ: how many times dearer a full resource is than an idle one."),
    ] = 100.0


@dataclass(frozen=True, kw_only=True)
class ScoringWeights:
    """How much each term counts; only the ratios matter.

    Every term outweighs those below it one by one, and none outweighs all others together.

    Raises:
        ValueError: No weight is above 0.
    """

    affinity: Annotated[float, Ge(0.0), Le(100.0), Doc("Weight of bucket affinity.")] = 4.0
    """The job's owner declared it."""
    locality: Annotated[
        float, Ge(0.0), Le(100.0), Doc("Weight of nodes that hold other members of the job.")
    ] = 3.0
    """Members on one node do not talk over the network."""
    packing: Annotated[float, Ge(0.0), Le(100.0), Doc("Weight of filling nodes in use.")] = 2.0
    """The next gang needs whole free nodes."""
    price: Annotated[float, Ge(0.0), Le(100.0), Doc("Weight of cheap nodes.")] = 1.0
    """It settles what the others leave open, against the fuller of two nodes."""
    preference: Annotated[
        float,
        Ge(0.0),
        Le(100.0),
        Doc(
            "Weight of nodes that the pod prefers, by node affinity or by "
            "`shuntyard.io/accelerators`. Above 0 the planner also tries these nodes first."
        ),
    ] = 6.0
    """The job's owner asked for it by name."""
    sparing: Annotated[
        float,
        Ge(0.0),
        Le(100.0),
        Doc(
            "Weight of nodes without GPUs, for pods that request none. Above 0 the planner uses "
            "nodes with GPUs for a job without only if the other nodes do not hold it."
        ),
    ] = 5.0
    """CPU and memory that are gone on a GPU node leave its GPUs idle."""

    def __post_init__(self) -> None:
        if not self.affinity + self.locality + self.packing + self.price > 0:
            raise ValueError("at least one weight must be above 0")


LEVELS: Final = (
    Level("zone", labels.ZONE_LABEL),
    Level(
        "block",
        "cloud.provider.com/topology-block",
        also=(
            "cloud.google.com/gce-topology-block",
            "topology.k8s.aws/network-node-layer-2",
            "oci.oraclecloud.com/rdma.network_block_id",
            "fabric.topograph.run/tier-1",
            "network.topology.nvidia.com/spine",
        ),
    ),
    Level(
        "rack",
        "cloud.provider.com/topology-rack",
        also=(
            "cloud.google.com/gce-topology-subblock",
            "topology.k8s.aws/network-node-layer-3",
            "oci.oraclecloud.com/rdma.local_block_id",
            "fabric.topograph.run/tier-0",
            "network.topology.nvidia.com/leaf",
        ),
    ),
    Level(
        "nvlink",
        "nvidia.com/gpu.clique",
        also=(
            "topology.k8s.aws/ultraserver-id",
            "accelerator.topograph.run/domain",
            "network.topology.nvidia.com/accelerator",
        ),
        unique=True,
    ),
    Level("hostname", labels.HOSTNAME_LABEL),
)
"""Zone and hostname are well-known labels of Kubernetes; the first block and rack those of Kueue's
pages. The others are written by GKE, by AWS' cloud-controller-manager (its layer 3 is the switch at
the node, where there are three), by OKE, and by NVIDIA's Topograph. The clique is the NVLink domain
by GPU feature discovery; a domain's nodes may be at several switches, so racks do not divide it."""


@dataclass(frozen=True, kw_only=True)
class TopologyParameters:
    """The levels of the cluster's topology, and how many domains are tried.

    Raises:
        ValueError: Two levels have one name or one label.

    Source:
        Kueue, Topology Aware Scheduling, for levels as node labels; ``most_tries`` is ours.
    """

    levels: Annotated[
        tuple[Level, ...],
        Doc(
            "From the coarsest to the finest: the `name` that annotations may use, and the node "
            "`label` whose values are the domains; in the environment `name=label`, separated by "
            "commas. Nodes without the label are in no domain of that level. `also` has further "
            "labels, for nodes without the first; `unique` says that values are unique in the "
            "cluster, so that coarser levels do not tell domains apart."
        ),
    ] = LEVELS
    most_tries: Annotated[
        int,
        Ge(2),
        Le(1000),
        Doc(
            "In how many domains of a level a gang of several pod shapes is tried, if it might fit "
            "in more. A gang of one shape needs one try."
        ),
    ] = 16

    def __post_init__(self) -> None:
        texts = [text for level in self.levels for text in {level.name, *level.labels}]
        if twice := [text for text in texts if texts.count(text) > 1]:
            raise ValueError(f"levels: {twice[0]!r} names two levels, expected one")

    def level(self, text: str, field: str) -> int:
        """Return the index of the level with that name or label.

        Raises:
            InputError: There is none; ``field`` names the place of the text.
        """
        for i, level in enumerate(self.levels):
            if text in {level.name, *level.labels}:
                return i
        levels = ", ".join(f"{level.name} ({level.label})" for level in self.levels)
        raise InputError(field, text, f"one of the topology levels: {levels or 'there are none'}")
