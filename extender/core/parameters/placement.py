"""Parameters of placement: gangs, scoring, node prices and topology."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from shared import labels
from shared.errors import InputError

GANG_BOUNDS: Final[Mapping[str, tuple[float, float]]] = {"spares": (0, 8)}
"""Lowest and highest value of each number in ``GangParameters``."""


@dataclass(frozen=True)
class GangParameters:
    """How gangs are placed.

    Attributes:
        spares: How many other nodes a placement names for each pod.
        spread_workers: Whether workers of a job with declared relations should be apart too.

    Source:
        Du et al. 2023, Sect. 3.1 for ``spread_workers`` (optional there); ``spares`` is ours.
    """

    spares: int = 2
    spread_workers: bool = False


@dataclass(frozen=True)
class Level:
    """A level of the cluster's topology.

    Attributes:
        name: As people call it, ``rack``.
        label: The node label whose values are its domains.
    """

    name: str
    label: str


NODE_PRICE_BOUNDS: Final[Mapping[str, tuple[float, float]]] = {"kappa": (10.0, 1e6)}
"""Lowest and highest value of each number in ``PricingParameters``: the sweep of the spec."""


@dataclass(frozen=True)
class NodePriceParameters:
    """What the prices depend on besides the nodes.

    Attributes:
        kappa: U/L, how many times dearer a full resource is than an idle one. 100 is the ratio of
            the largest to the smallest utility with the floor f_min ≥ f_max/100; (25)'s other
            factors make an empty cluster admit every job, and nothing is admitted here.

    Source:
        Bao, Peng, Wu, Li, INFOCOM 2018, (22), (23), (25); the floor is ours.
    """

    kappa: float = 100.0


SCORING_BOUNDS: Final[Mapping[str, tuple[float, float]]] = {
    "affinity": (0.0, 100.0),
    "locality": (0.0, 100.0),
    "packing": (0.0, 100.0),
    "price": (0.0, 100.0),
}
"""Lowest and highest weight of each term."""


@dataclass(frozen=True)
class ScoringWeights:
    """How much each term counts; only the ratios matter.

    Every term outweighs those below it one by one, and none outweighs all others together.

    Attributes:
        affinity: 4: the job's owner declared it.
        locality: 3: members on one node do not talk over the network.
        packing: 2: whole free nodes are what the next gang needs.
        price: 1: settles what the others leave open, against the fuller of two nodes.

    Raises:
        ValueError: No weight is above 0.
    """

    affinity: float = 4.0
    locality: float = 3.0
    packing: float = 2.0
    price: float = 1.0

    def __post_init__(self) -> None:
        if not self.affinity + self.locality + self.packing + self.price > 0:
            raise ValueError("at least one weight must be above 0")


TOPOLOGY_BOUNDS: Final[Mapping[str, tuple[float, float]]] = {"most_tries": (2, 1000)}
"""Lowest and highest value of each number in ``TopologyParameters``."""


LEVELS: Final = (
    Level("zone", labels.ZONE_LABEL),
    Level("block", "cloud.provider.com/topology-block"),
    Level("rack", "cloud.provider.com/topology-rack"),
    Level("hostname", labels.HOSTNAME_LABEL),
)
"""Zone and hostname are well-known labels of Kubernetes; block and rack are those of Kueue's pages,
where every provider has its own."""


@dataclass(frozen=True)
class TopologyParameters:
    """What the cluster's topology is, and how long a domain is looked for.

    Attributes:
        levels: From the coarsest to the finest.
        most_tries: In how many domains of a level a gang of several shapes is tried, where it might
            fit in more; pods of one shape need one try.

    Raises:
        ValueError: Two levels have one name or one label.

    Source:
        Kueue, Topology Aware Scheduling, for levels as node labels; ``most_tries`` is ours.
    """

    levels: tuple[Level, ...] = LEVELS
    most_tries: int = 16

    def __post_init__(self) -> None:
        known = [text for level in self.levels for text in {level.name, level.label}]
        if twice := [text for text in known if known.count(text) > 1]:
            raise ValueError(f"levels: {twice[0]!r} stands for two of them")

    def level(self, text: str, field: str) -> int:
        """Return the index of the level of that name or label.

        Raises:
            InputError: There is none; ``field`` says where the text stands.
        """
        for i, level in enumerate(self.levels):
            if text in {level.name, level.label}:
                return i
        known = ", ".join(f"{level.name} ({level.label})" for level in self.levels)
        raise InputError(field, text, f"one of the topology levels: {known or 'there are none'}")
