"""Elastic jobs for tests: an Indexed Job ``j`` of workers on nodes ``a`` and ``b``."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace as changed
from typing import Any

from msgspec.structs import replace

from extender.core.cluster.commands import ChangeOwner
from extender.core.cluster.session import Reading, Session
from extender.core.cluster.snapshot import Snapshot
from extender.core.elastic.decision import ElasticDecision, ElasticOutcome, ElasticTrigger
from extender.core.elastic.state import ElasticState
from extender.core.parameters.combined import CoreParameters
from extender.core.records import rescale as records_rescale
from extender.core.records.rescale import Cause, Phase, Proposal, Rescale
from shared import labels
from shared.model import Entity, JobKey, JobState, Owner, Pod, Uid, WorkerCount
from shared.progress import Checkpoint, CheckpointPhase
from tests.fakes.builders import make_node, make_owner, make_pod
from tests.fakes.reports import make_pod_report, make_report
from tests.unit.core.clusters import store_of

NOW = 100_000.0
PARAMS = CoreParameters()
ELASTIC = {labels.WORKERS: "2..6", labels.CHECKPOINT: ""}
TERMINATING = {labels.WORKERS: "2..6", labels.SHRINK: "terminate"}
FIELDS = ("/spec/parallelism", "/spec/completions")


def tuned(**fields: Any) -> CoreParameters:
    """The defaults, but for some limits of changes."""
    return changed(PARAMS, rescaling=changed(PARAMS.rescaling, **fields))


def job_key(name: str = "j") -> JobKey:
    return JobKey(f"default/job/{name}")


def owner_of(
    number: int = 4,
    name: str = "j",
    *,
    rescale: Rescale | str | None = None,
    notes: Mapping[str, str] = ELASTIC,
    suspended: bool = False,
    managed: bool = False,
) -> Owner:
    """A Job that wants so many workers; ``rescale`` is its annotation."""
    record = {} if rescale is None else {labels.RESCALE: rescale}
    if isinstance(rescale, Rescale):
        record = {labels.RESCALE: records_rescale.text(rescale)}
    owner = make_owner(name, size=number, annotations={**notes, **record})
    return replace(
        owner,
        counts=(WorkerCount(count=number, fields=FIELDS),),
        suspend_field="/spec/suspend",
        suspended=suspended,
        job=JobState(suspended=suspended, managed=managed),
    )


def workers(owner: Owner, number: int = 4, *, bound: int | None = None, **more: Any) -> list[Pod]:
    """Pods of which the first ``bound`` run on node a; the others are gated."""
    bound = number if bound is None else bound
    return [
        make_pod(
            f"{owner.name}-{i}",
            owner=owner,
            index=i,
            node="a" if i < bound else None,
            gated=i >= bound,
            **more,
        )
        for i in range(number)
    ]


def rescale(
    phase: Phase = Phase.ASKED,
    before: int = 4,
    to: int = 3,
    *,
    cause: Cause = Cause.SLOWS,
    name: str = "j",
    **fields: Any,
) -> Rescale:
    """A change that was begun ten seconds ago."""
    asked = (Uid(f"default-{name}-0"),) if phase is Phase.ASKED else ()
    given = {
        "id": "r",
        "at": NOW - 10,
        "since": NOW - 10,
        "asked": asked,
        "ask_until": NOW + 110,
        "hold_until": NOW + 230,
        "job": job_key(name),
        **fields,
    }
    return Rescale(phase=phase, cause=cause, before=before, to=to, **given)


def acked(request: str = "r", **fields: Any) -> Checkpoint:
    return Checkpoint(phase=CheckpointPhase.ACKED, request=request, acked_step=7, **fields)


def yard(
    *entities: Entity | Iterable[Entity],
    seen: Mapping[str, Checkpoint] | None = None,
    silent: bool = False,
) -> Snapshot:
    """Two nodes and the given objects; agents report the checkpoints in ``seen``, by pod."""
    flat = [e for one in entities for e in (one if isinstance(one, list | tuple) else [one])]
    store = store_of([make_node("a", cpu="64"), make_node("b", cpu="64")], flat)
    checkpoints = {"j-0": Checkpoint(), **(seen or {})}
    if not silent:
        pods = [e for e in flat if isinstance(e, Pod)]
        for node in "ab":
            here = [p for p in pods if p.node_name == node and p.name in checkpoints]
            reports = [make_pod_report(p.uid, checkpoint=checkpoints[p.name]) for p in here]
            store.report(make_report(node, reports, received_at=0.0))
    return store.snapshot()


def crew(
    number: int = 4,
    *,
    bound: int | None = None,
    pods: int | None = None,
    seen: Mapping[str, Checkpoint] | None = None,
    silent: bool = False,
    **owner: Any,
) -> Snapshot:
    """A job of ``number`` workers, alone in the yard; ``pods`` if there are others than that."""
    made = owner_of(number, **owner)
    there = number if pods is None else pods
    return yard(made, workers(made, there, bound=bound), seen=seen, silent=silent)


def propose(to: int, cause: Cause = Cause.SLOWS, job: str = "j", starts: str = "") -> Proposal:
    return Proposal(job_key(job), to, cause, job_key(starts) if starts else None)


def looked(
    snapshot: Snapshot,
    *proposals: Proposal,
    now: float = NOW,
    params: CoreParameters = PARAMS,
    memory: ElasticState | None = None,
    due: bool = True,
) -> ElasticOutcome:
    """One look to which these proposals are made."""
    session = Session(snapshot, Reading(now, 0.0), params)
    decision = ElasticDecision(lambda *_: proposals)
    return decision.decide(session, memory or ElasticState(), ElasticTrigger(due))


def only(look: ElasticOutcome) -> ChangeOwner:
    (command,) = look.commands
    return command


def written(command: ChangeOwner) -> Rescale:
    """The word that a command writes."""
    text = command.annotations[labels.RESCALE]
    found = records_rescale.read(replace(command.owner, annotations={labels.RESCALE: text}))
    assert found is not None
    return found


def numbers(command: ChangeOwner) -> int | None:
    """The number that a command writes; None: none."""
    values = {value for _, value in command.fields}
    assert len(values) <= 1
    return values.pop() if values else None


def why(look: ElasticOutcome) -> dict[str, str]:
    """Why jobs do not change, by name."""
    return {k.rpartition("/")[2]: d.reason for k, d in look.state.declined.items()}


def names(pods: Sequence[Pod]) -> list[str]:
    return [pod.name for pod in pods]
