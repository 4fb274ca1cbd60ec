"""Which gangs move as a whole to nodes on which they train faster, and where they go."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from extender.core.cluster.jobs import Job
from extender.core.cluster.session import Reading, Session
from extender.core.migration import gang_moves
from extender.core.migration.gang_moves import GangMove
from extender.core.parameters.combined import CoreParameters
from extender.core.parameters.migration import MigrationParameters, MigrationPolicy
from extender.core.records import parking
from extender.core.records.parking import Cause, Parking, ParkingProposal, Phase
from shared import labels
from shared.model import JobKey, Node, Owner, Pause, Uid
from tests.fakes.builders import make_node, make_owner, make_pod
from tests.unit.core.migration.migrating_cluster import (
    MONOTONIC,
    NOW,
    Train,
    cluster_of,
    job_owner,
)
from tests.unit.core.policies.racks import RACK, ZONE

ON = MigrationParameters(gangs=True)
PREFERS_RACK = {labels.PREFERRED_TOPOLOGY: "rack", labels.SPREAD_SPEEDS: "rack=0.9"}
Nodes = Mapping[str, Sequence[str | Train]]


def gang(
    name: str = "g", size: int = 2, notes: Mapping[str, str] | None = None, **train: Any
) -> list[Train]:
    """Pods of one Job that save on request."""
    owner = replace(job_owner(name, size=size, active=size), suspend_field="/spec/suspend")
    own = {labels.CHECKPOINT: "", **(notes or {})}
    given = {"owner": owner, "annotations": own, **train}
    return [Train(f"{name}-{i}", pod={"index": i}, **given) for i in range(size)]


def may(_session: Session, _job: Job, _proposal: ParkingProposal) -> bool:
    return True


def session_of(nodes: Nodes, *more: Any, params: MigrationParameters, **cluster: Any) -> Session:
    snapshot = cluster_of(nodes, *more, **cluster)
    return Session(snapshot, Reading(NOW, MONOTONIC), CoreParameters(migration=params))


def move(
    nodes: Nodes, *more: Any, params: MigrationParameters = ON, **cluster: Any
) -> GangMove | None:
    return gang_moves.best_move(session_of(nodes, *more, params=params, **cluster), may)


def nodes_of(found: GangMove | None) -> list[str]:
    return [] if found is None else sorted(node for _, node in found.places)


def crowded(*trains: Train, **more: Sequence[str | Train]) -> Nodes:
    """The pods on ``a``, ``b``, …, each beside another job."""
    here = {chr(97 + i): [train, f"f{i}"] for i, train in enumerate(trains)}
    return {**here, **more}


def racked(cpu: str = "1", **racks: str) -> list[Node]:
    """Nodes in racks of one zone."""
    return [
        make_node(name, cpu=cpu, labels={ZONE: "z", RACK: rack}) for name, rack in racks.items()
    ]


ALONE: Nodes = {"a": gang()[:1], "b": gang()[1:], "c": [], "d": []}
WISH = gang(notes=PREFERS_RACK)
SPREAD: Nodes = {"a": WISH[:1], "b": WISH[1:], "c": [], "d": []}
SIX = gang("h", 6)
CASES: dict[str, tuple[Nodes, list[Node], dict[str, Any], list[str]]] = {
    "from contended nodes to idle ones, not all of it to one": (
        crowded(*gang(), c=[], d=[]),
        [],
        {},
        ["c", "d"],
    ),
    "not near its end": (crowded(*gang(remaining_seconds=50), c=[], d=[]), [], {}, []),
    "if it grows faster and its end is unknown": (
        crowded(*gang(remaining_seconds=None), c=[], d=[]),
        [],
        {},
        ["c", "d"],
    ),
    "not to nodes that are as full": (
        crowded(*gang(), c=["x1", "x2"], d=["y1", "y2"]),
        [],
        {},
        [],
    ),
    "not for CPU that is to spare where it is": (
        crowded(*gang(), c=[], d=[]),
        [],
        {"busy": ()},
        [],
    ),
    "to others that lose less than those it leaves gain": (
        {"a": [*gang(), "f"], "c": ["x"], "d": ["y"]},
        [],
        {},
        ["a", "c"],
    ),
    "not to a larger gang that would lose more than is gained": (
        {"a": [*gang(), "f"], **{chr(99 + i): [pod] for i, pod in enumerate(SIX)}},
        [],
        {},
        [],
    ),
    "into the rack that it prefers": (
        SPREAD,
        racked(a="r1", b="r2", c="r3", d="r3"),
        {"busy": ()},
        ["c", "d"],
    ),
    "to one node, which is one rack": (
        SPREAD,
        racked("4", a="r1", b="r2", c="r3", d="r4"),
        {"busy": ()},
        ["a", "a"],
    ),
    "not within the rack in which it is": (
        SPREAD,
        racked(a="r1", b="r1", c="r3", d="r3"),
        {"busy": ()},
        [],
    ),
    "not to a rack that it does not prefer": (
        ALONE,
        racked(a="r1", b="r2", c="r3", d="r3"),
        {"busy": ()},
        [],
    ),
    "not where its nodes have no label": (SPREAD, [], {"busy": ()}, []),
    "not to a node without a report": (
        crowded(*gang(), c=[], d=[]),
        [],
        {"silent": ["c", "d"]},
        [],
    ),
    "not from a node without a report": (
        crowded(*gang(), c=[], d=[]),
        [],
        {"silent": ["a"]},
        [],
    ),
}


@pytest.mark.parametrize(("nodes", "more", "cluster", "want"), CASES.values(), ids=CASES)
def test_a_gang_moves(
    nodes: Nodes, more: list[Node], cluster: dict[str, Any], want: list[str]
) -> None:
    assert nodes_of(move(nodes, *more, **cluster)) == want


STAY: dict[str, tuple[list[Train], MigrationParameters]] = {
    "its owner names no checkpoint": (gang(annotations={}), ON),
    "its owner says never": (gang(notes={labels.PREEMPTIBLE: "never"}), ON),
    "it would have to be ended without saving": (
        gang(notes={labels.PREEMPTIBLE: "terminate"}),
        ON,
    ),
    "its pods are independent": (gang(notes={labels.MIN_AVAILABLE: "1"}), ON),
    "gangs do not move": (gang(), MigrationParameters()),
    "nothing moves": (gang(), MigrationParameters(gangs=True, policy=MigrationPolicy.NONE)),
    "as much moves as may": (gang(), MigrationParameters(gangs=True, most_open=0)),
}


@pytest.mark.parametrize(("trains", "params"), STAY.values(), ids=STAY)
def test_a_gang_stays(trains: list[Train], params: MigrationParameters) -> None:
    assert move(crowded(*trains, c=[], d=[]), params=params) is None


def test_a_gang_that_may_not_leave_stays_and_the_next_moves() -> None:
    nodes = {**crowded(*gang(), *gang("h")), "y": [], "z": []}
    session = session_of(nodes, params=ON)

    def but_g(_session: Session, job: Job, proposal: ParkingProposal) -> bool:
        assert proposal.cause is Cause.MOVE
        return job.name != "g"

    found = gang_moves.best_move(session, but_g)
    assert found is not None
    assert found.job == "default/job/h"


def test_one_gang_moves_at_a_time_if_one_may() -> None:
    record = Parking(
        id="p",
        phase=Phase.ASKED,
        cause=Cause.MOVE,
        at=NOW,
        since=NOW,
        job=JobKey("default/job/other"),
        owner=Uid("other"),
    )
    owner = make_owner("other", uid="other", annotations={labels.PARKING: parking.text(record)})
    other = [owner, make_pod("other-0", owner=owner, node="e")]
    nodes = crowded(*gang(), c=[], d=[], e=[])
    one, two = (MigrationParameters(gangs=True, most_open=n) for n in (1, 2))
    assert move(nodes, *other, params=one) is None
    assert move(nodes, *other, params=two) is not None


def test_the_proposal_says_where_and_why() -> None:
    found = move(crowded(*gang(), c=[], d=[]))
    assert found is not None
    proposal = found.proposal
    assert (proposal.jobs, proposal.cause, proposal.in_turn) == (
        ("default/job/g",),
        Cause.MOVE,
        True,
    )
    assert proposal.why == (
        "it trains faster on c, d: share 0.50 to 1.00, saves 5000 s with 10000 s left, costs 61 s"
    )
    assert {node for _, node in proposal.places} == {"c", "d"}


def test_of_many_gangs_each_is_examined_in_time() -> None:
    """The worst of them have no place to go to: only the one on ``x`` and ``y`` fits elsewhere."""
    stuck = [gang(f"s{i}", 4) for i in range(6)]
    nodes = {name: [one[n] for one in stuck] for n, name in enumerate("abcd")}
    small = gang("small")
    everything = {**nodes, "x": [small[0], "f1"], "y": [small[1], "f2"], "u": [], "v": []}
    sizes = [make_node(name, cpu="6") for name in "abcd"]
    sizes += [make_node(name, cpu=cpu) for name, cpu in zip("uvxy", "1122", strict=True)]
    snapshot = cluster_of(everything, *sizes)
    params = CoreParameters(migration=ON)
    found = [
        gang_moves.best_move(Session(snapshot, Reading(NOW + at, MONOTONIC), params), may)
        for at in range(7)
    ]
    assert {move.job for move in found if move is not None} == {"default/job/small"}


KINDS: dict[str, Owner] = {
    "a JobSet": make_owner("g", kind="JobSet", api_version="jobset.x-k8s.io/v1alpha2"),
    "a PyTorchJob": make_owner("g", kind="PyTorchJob", api_version="kubeflow.org/v1"),
    "an MPIJob": make_owner("g", kind="MPIJob", api_version="kubeflow.org/v2beta1"),
    "a RayCluster": make_owner("g", kind="RayCluster", api_version="ray.io/v1"),
}
PAUSE = Pause(numbers=(("/spec/replicas", 2),))


@pytest.mark.parametrize("owner", KINDS.values(), ids=KINDS)
def test_gangs_of_every_kind_that_can_be_suspended_move(owner: Owner) -> None:
    owner = replace(owner, suspend_field="/spec/suspend")
    notes = {labels.CHECKPOINT: "", labels.MIN_AVAILABLE: "2"}
    trains = gang(owner=owner, annotations=notes)
    assert nodes_of(move(crowded(*trains, c=[], d=[]))) == ["c", "d"]


def test_a_gang_moves_that_is_paused_by_its_numbers_and_no_gang_that_cannot_be() -> None:
    owner = make_owner("g", kind="StatefulSet", api_version="apps/v1", size=2)
    for pause, want in ((PAUSE, ["c", "d"]), (None, [])):
        trains = gang(owner=replace(owner, pause=pause))
        assert nodes_of(move(crowded(*trains, c=[], d=[]))) == want
