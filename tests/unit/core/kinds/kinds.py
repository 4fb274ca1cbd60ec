"""Pods as their operators make them, and their owners: tests/fixtures/kinds."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from extender.core.cluster.owner_index import OwnerIndex
from extender.core.cluster.owners import above
from extender.core.cluster.snapshot import Snapshot
from extender.core.kinds.base import Owners
from shared.kube import kinds, parse, pod_groups
from shared.model import Owner, Pod, PodGroup
from tests.fakes.builders import make_room

FIXTURES: Final = Path(__file__).parents[3] / "fixtures" / "kinds"
NAMES: Final = tuple(sorted(path.stem for path in FIXTURES.glob("*.json")))

_DECODERS: Final[Mapping[tuple[str, str], Any]] = {
    ("Job", "batch"): parse.decode_job,
    ("StatefulSet", "apps"): parse.decode_stateful_set,
    ("Deployment", "apps"): parse.decode_deployment,
    ("ReplicaSet", "apps"): parse.decode_replica_set,
    **{(kind.kind, kind.group): kind.decode for kind in kinds.OWNERS},
    **{("PodGroup", kind.group): kind.decode for kind in pod_groups.GROUPS},
}


@dataclass(frozen=True)
class Captured:
    """The objects of one file; ``above`` is what the engine finds over each pod, by its name."""

    pods: tuple[Pod, ...]
    above: Mapping[str, Owners]


def captured(name: str) -> Captured:
    """Read one file the way the extender reads the API server."""
    found = json.loads((FIXTURES / f"{name}.json").read_text())
    pods = tuple(parse.decode_pod(json.dumps(raw).encode()) for raw in found["pods"])
    snapshot = _snapshot(pods, filter(None, map(_decoded, found["owners"])))
    return Captured(pods, {pod.name: above(snapshot, pod) for pod in pods})


def _decoded(raw: Mapping[str, Any]) -> Owner | PodGroup | None:
    """None of a kind that the extender does not read either."""
    decode = _DECODERS.get((raw["kind"], raw["apiVersion"].partition("/")[0]))
    entity: Owner | PodGroup | None = decode and decode(json.dumps(raw).encode())
    return entity


def _snapshot(pods: Iterable[Pod], over: Iterable[Owner | PodGroup]) -> Snapshot:
    over = tuple(over)
    return Snapshot(
        generation=1,
        node_table=make_room(),
        pods={pod.key: pod for pod in pods},
        jobs={},
        waiting=frozenset(),
        reservations={},
        bound={},
        owners=OwnerIndex({one.uid: one for one in over if isinstance(one, Owner)}),
        namespaces={},
        quotas={},
        priority_classes={},
        groups={one.key: one for one in over if isinstance(one, PodGroup)},
    )
