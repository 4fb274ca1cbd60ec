"""Carries out the steps of a change on a situation."""

from collections.abc import Callable
from dataclasses import replace

from msgspec.structs import replace as changed

from extender.core.kinds import registry
from extender.core.nodes.feasibility import taint_text
from shared import labels
from shared.model import Entity, Namespace, Node, NodeName, Owner, Pod, PodShape, Toleration, Uid
from shared.readapi.explanation import Step, StepKind
from tests.fakes.builders import make_taint
from tests.unit.core.explain.situation import Situation


def applied(step: Step, s: Situation) -> Situation:
    """Return the situation after one step."""
    return _STEPS[step.kind](step, s)


def _mapped(s: Situation, change: Callable[[Entity], Entity | None]) -> Situation:
    changed_entities = (change(entity) for entity in s.entities)
    return replace(s, entities=tuple(e for e in changed_entities if e is not None))


def _on_pods(step: Step, s: Situation, change: Callable[[Pod], Pod]) -> Situation:
    def maybe(entity: Entity) -> Entity:
        of_job = isinstance(entity, Pod) and registry.job_key(entity) == step.subject
        role = of_job and step.role in {"", entity.labels.get(labels.ROLE, "")}
        return change(entity) if role else entity

    return _mapped(s, maybe)


def _on_shapes(step: Step, s: Situation, change: Callable[[PodShape], PodShape]) -> Situation:
    return _on_pods(step, s, lambda pod: changed(pod, shape=change(pod.shape)))


def _on_node(step: Step, s: Situation, change: Callable[[Node], Node]) -> Situation:
    def maybe(entity: Entity) -> Entity:
        return (
            change(entity) if isinstance(entity, Node) and entity.name == step.subject else entity
        )

    return _mapped(s, maybe)


def _annotate(step: Step, s: Situation) -> Situation:
    def put(pod: Pod) -> Pod:
        kept = {k: v for k, v in pod.annotations.items() if k != step.field}
        return changed(pod, annotations=kept | ({step.field: step.after} if step.after else {}))

    def drop(entity: Entity) -> Entity:
        if not isinstance(entity, Owner):
            return entity
        kept = {k: v for k, v in entity.annotations.items() if k != step.field}
        return changed(entity, annotations=kept)

    return _mapped(_on_pods(step, s, put), drop)


def _label(step: Step, s: Situation) -> Situation:
    def put(pod: Pod) -> Pod:
        kept = {k: v for k, v in pod.labels.items() if k != step.field}
        return changed(pod, labels=kept | ({step.field: step.after} if step.after else {}))

    return _on_pods(step, s, put)


def _ungate(step: Step, s: Situation) -> Situation:
    return _on_pods(
        step, s, lambda pod: changed(pod, gates=tuple(g for g in pod.gates if g != step.field))
    )


def _more_pods(step: Step, s: Situation) -> Situation:
    pods = [e for e in s.entities if isinstance(e, Pod) and registry.job_key(e) == step.subject]
    new = tuple(
        changed(
            pods[-1],
            name=f"more-{i}",
            uid=Uid(f"more-{i}"),
            labels={**pods[-1].labels, labels.JOB_INDEX_LABEL: str(i)},
        )
        for i in range(len(pods), len(pods) + (step.amount or 0))
    )
    return replace(s, entities=(*s.entities, *new))


def _raise(step: Step, s: Situation) -> Situation:
    def put(entity: Entity) -> Entity:
        if not isinstance(entity, Namespace) or entity.name != step.subject:
            return entity
        return changed(entity, annotations={**entity.annotations, step.field: step.after})

    return _mapped(s, put)


def _wait(step: Step, s: Situation) -> Situation:
    if step.field == "back-off":
        return replace(s, now=step.at or s.now)
    if step.field == "workers":  # the pods with the highest index
        return _mapped(s, lambda entity: None if _is_leaving(entity, step, s) else entity)
    if step.field == "start":  # the queue starts that job when the jobs before it have ended
        return s

    def end(entity: Entity) -> Entity | None:
        gone = isinstance(entity, Pod) and step.subject in {registry.job_key(entity), entity.key}
        return None if gone else entity

    return _mapped(s, end)


def _is_leaving(entity: Entity, step: Step, s: Situation) -> bool:
    if not isinstance(entity, Pod) or registry.job_key(entity) != step.subject:
        return False
    of_job = [e for e in s.entities if isinstance(e, Pod) and registry.job_key(e) == step.subject]
    return entity in of_job[-(step.amount or 0) :]


def _lower(step: Step, s: Situation) -> Situation:
    most = int(step.after)

    def lower(shape: PodShape) -> PodShape:
        requests = tuple((n, min(v, most) if n == step.field else v) for n, v in shape.requests)
        return changed(shape, requests=requests)

    return _on_shapes(step, s, lower)


def _select(step: Step, s: Situation) -> Situation:
    def select(shape: PodShape) -> PodShape:
        pairs = {k: v for k, v in shape.node_selector if (k, v) != (step.field, step.before)}
        pairs |= {step.field: step.after} if step.after else {}
        return changed(shape, node_selector=tuple(sorted(pairs.items())))

    return _on_shapes(step, s, select)


def _tolerate(step: Step, s: Situation) -> Situation:
    taint = make_taint(step.field)
    more = Toleration(taint.key, "Equal", taint.value, taint.effect)
    return _on_shapes(step, s, lambda sh: changed(sh, tolerations=(*sh.tolerations, more)))


def _listen(step: Step, s: Situation) -> Situation:
    def listen(shape: PodShape) -> PodShape:
        old = (step.field, int(step.before))
        ports = tuple(
            changed(p, port=int(step.after)) if (p.protocol, p.port) == old else p
            for p in shape.host_ports
        )
        return changed(shape, host_ports=ports)

    return _on_shapes(step, s, listen)


def _uncordon(step: Step, s: Situation) -> Situation:
    return _on_node(step, s, lambda node: changed(node, unschedulable=False))


def _untaint(step: Step, s: Situation) -> Situation:
    def untaint(node: Node) -> Node:
        return changed(node, taints=tuple(t for t in node.taints if taint_text(t) != step.field))

    return _on_node(step, s, untaint)


def _free(step: Step, s: Situation) -> Situation:
    """Free an amount on a node: lower requests of its pods, or end pods if ``pods`` is freed."""
    left = step.amount or 0

    def shrink(entity: Entity) -> Entity | None:
        nonlocal left
        here = isinstance(entity, Pod) and step.subject in {
            entity.node_name,
            entity.annotations.get(labels.NODE),
        }
        if not here or not left:
            return entity
        amounts = dict(entity.shape.requests)
        less = min(left, amounts.get(step.field, 0))
        left -= less
        if step.field == "pods":
            return None
        amounts[step.field] = amounts.get(step.field, 0) - less
        requests = tuple(sorted((n, v) for n, v in amounts.items() if v))
        return changed(entity, shape=changed(entity.shape, requests=requests))

    return _mapped(s, shrink)


def _add_nodes(step: Step, s: Situation) -> Situation:
    like = next(e for e in s.entities if isinstance(e, Node) and e.name == step.subject)
    raised = {n: int(v) for n, _, v in (p.partition("=") for p in step.after.split(",")) if n}
    taints = tuple(t for t in like.taints if not t.key.startswith("node.kubernetes.io/"))
    new = tuple(
        changed(
            like,
            name=NodeName(f"joined-{i}"),
            uid=Uid(f"joined-{i}"),
            labels={**like.labels, labels.HOSTNAME_LABEL: f"joined-{i}"},
            taints=taints,
            unschedulable=False,
            allocatable={**like.allocatable, **raised},
        )
        for i in range(step.amount or 0)
    )
    return replace(s, entities=(*s.entities, *new))


_STEPS: dict[StepKind, Callable[[Step, Situation], Situation]] = {
    StepKind.SET_ANNOTATION: _annotate,
    StepKind.SET_LABEL: _label,
    StepKind.REMOVE_GATE: _ungate,
    StepKind.ADD_PODS: _more_pods,
    StepKind.WAIT: _wait,
    StepKind.LOWER_MIN_AVAILABLE: _annotate,
    StepKind.LOWER_REQUEST: _lower,
    StepKind.CHANGE_SELECTOR: _select,
    StepKind.DROP_AFFINITY: lambda step, s: _on_shapes(
        step, s, lambda shape: changed(shape, affinity=None)
    ),
    StepKind.ADD_TOLERATION: _tolerate,
    StepKind.CHANGE_PORT: _listen,
    StepKind.DROP_TOPOLOGY: _annotate,
    StepKind.RAISE_QUOTA: _raise,
    StepKind.SET_SCHEDULER: lambda step, s: _on_pods(
        step, s, lambda pod: changed(pod, scheduler_name=step.after)
    ),
    StepKind.UNCORDON: _uncordon,
    StepKind.REMOVE_TAINT: _untaint,
    StepKind.FREE: _free,
    StepKind.ADD_NODES: _add_nodes,
}
