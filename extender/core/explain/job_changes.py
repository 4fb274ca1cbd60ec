"""Changes of the job itself: its requests, its gang size, what it demands of nodes."""

from collections.abc import Iterator, Mapping
from difflib import SequenceMatcher
from functools import partial
from typing import Final

from msgspec.structs import replace

from extender.core.cluster.job_spec import TopologyRequest
from extender.core.explain import verdicts
from extender.core.explain.offers import Offer, value
from extender.core.explain.trial import Situation, Trials
from extender.core.nodes.feasibility import taint_text
from extender.core.nodes.node_table import conflicts
from extender.core.placement import planner
from shared import labels
from shared.explanation import Step, StepKind
from shared.model import PODS, HostPort, PodShape, Taint, Toleration

_MEBIBYTE: Final = 2**20
_SIMILAR: Final = 0.6
"""Values of a label that are so alike count as a slip of the pen."""
_MOST_VALUES: Final = 3
_HIGHEST_PORT: Final = 65535
_CONDITIONS: Final = "node.kubernetes.io/"
"""Taints of this domain say how a node is; they are not tolerated but mended."""


def lower_requests(s: Situation, trials: Trials) -> Iterator[Offer]:
    """Yield the largest request with which the job runs, by resource; else several together."""
    for role in s.roles:
        asked = _asked(s, role)
        caps = {name: _lowered(s, trials, role, {}, name, most) for name, most in asked.items()}
        found = [{name: cap} for name, cap in caps.items() if cap is not None]
        if not found and len(asked) > 1:
            found = [together] if (together := _together(s, trials, role, asked)) else []
        for lowered in found:
            yield _lower(s, role, asked, lowered)


def lower_gang_size(s: Situation, trials: Trials) -> Iterator[Offer]:
    """Yield the largest gang size with which the job runs."""
    size, fits = s.job.min_available or 0, s.fits
    smaller = size - planner.missing(s.job) + fits
    if not 0 < smaller < size or not fits or not trials.runs(s.asking_for(smaller)):
        return
    step = Step(
        kind=StepKind.LOWER_MIN_AVAILABLE,
        subject=s.job.key,
        field=labels.MIN_AVAILABLE,
        before=str(size),
        after=str(smaller),
    )
    yield Offer(
        (step,), f"lower {labels.MIN_AVAILABLE} from {size} to {smaller}, if it can train with less"
    )


def change_selector(s: Situation, trials: Trials) -> Iterator[Offer]:
    """Yield, by key of ``nodeSelector``, a value much like it that nodes have, or none at all."""
    for key, old in dict.fromkeys(pair for m in s.waiting for pair in m.pod.shape.node_selector):
        for new in (*_similar(s, key, old), ""):
            if trials.runs(_selected(s, key, old, new)):
                yield _select(s, key, old, new)
                break


def drop_affinity(s: Situation, trials: Trials) -> Iterator[Offer]:
    """Yield that the pods go without their required node affinity."""
    if any(m.pod.shape.affinity is not None for m in s.waiting) and trials.runs(
        s.reshaped(without_affinity)
    ):
        step = Step(kind=StepKind.DROP_AFFINITY, subject=s.job.key)
        yield Offer((step,), "drop the required node affinity")


def tolerate(s: Situation, trials: Trials) -> Iterator[Offer]:
    """Yield the fewest taints that the pods would have to tolerate."""
    taints = hard_taints(s)
    if not taints or not trials.runs(s.reshaped(partial(tolerating, taints=taints))):
        return
    some = trials.needed(
        list(range(len(taints))),
        lambda kept: s.reshaped(partial(tolerating, taints=[taints[i] for i in kept])),
    )
    texts = [taint_text(taints[i]) for i in some]
    steps = tuple(
        Step(kind=StepKind.ADD_TOLERATION, subject=s.job.key, field=text) for text in texts
    )
    yield Offer(steps, f"add a toleration of {' and '.join(texts)}")


def change_port(s: Situation, trials: Trials) -> Iterator[Offer]:
    """Yield another host port, the next one that is free on every node."""
    ports = dict.fromkeys(port for m in s.waiting for port in m.pod.shape.host_ports)
    held = [port for taken in s.room.ports for port in taken]
    for port in ports:
        if not conflicts([port], held):
            continue
        free = _next_free(port, [*held, *ports])
        if free and trials.runs(s.reshaped(partial(_listening, old=port, new=free))):
            old, new = str(port.port), str(free)
            step = Step(
                kind=StepKind.CHANGE_PORT,
                subject=s.job.key,
                field=port.protocol,
                before=old,
                after=new,
            )
            yield Offer((step,), f"change the host port {port.protocol} {old} to {new}")


def drop_topology(s: Situation, trials: Trials) -> Iterator[Offer]:
    """Yield that the gang may be spread over domains of the topology."""
    request = s.job.spec.topology
    if request is not None and request.required and trials.runs(s.wishing(topology=None)):
        yield without_topology(s, request)


def without_topology(s: Situation, request: TopologyRequest) -> Offer:
    """Return that the job does not require a level any more."""
    step = Step(
        kind=StepKind.DROP_TOPOLOGY, subject=s.job.key, field=request.key, before=request.text
    )
    return Offer((step,), f"drop the annotation {request.key} (now {request.text!r})")


def hard_taints(s: Situation) -> list[Taint]:
    """Return the taints that keep waiting pods away and that a pod may decide to tolerate."""
    found: dict[str, Taint] = {}
    unwanted = {
        detail
        for look in verdicts.looks(s.groups, s.room)
        for causes in look.by_causes
        for token, detail in causes
        if token == "taint"  # noqa: S105 - a cause, no secret
    }
    for node in s.room.nodes:
        for taint in node.taints:
            if taint_text(taint) in unwanted and not taint.key.startswith(_CONDITIONS):
                found.setdefault(taint_text(taint), taint)
    return [found[text] for text in sorted(found)]


def tolerating(shape: PodShape, taints: list[Taint]) -> PodShape:
    """Return the shape with a toleration of each taint."""
    more = tuple(Toleration(t.key, "Equal", t.value, t.effect) for t in taints)
    return replace(shape, tolerations=(*shape.tolerations, *more))


def selecting(shape: PodShape, key: str, old: str, new: str) -> PodShape:
    """Return the shape with another value of a key of its selector; empty: without the key."""
    pairs = tuple(
        (key, new) if pair == (key, old) else pair
        for pair in shape.node_selector
        if pair != (key, old) or new
    )
    return replace(shape, node_selector=pairs)


def without_selector(shape: PodShape) -> PodShape:
    """Return the shape without its node selector."""
    return replace(shape, node_selector=())


def without_affinity(shape: PodShape) -> PodShape:
    """Return the shape without its required node affinity."""
    return replace(shape, affinity=None)


def asking_at_most(shape: PodShape, caps: Mapping[str, int]) -> PodShape:
    """Return the shape with requests of at most these amounts."""
    requests = tuple((name, min(v, caps.get(name, v))) for name, v in shape.requests)
    return replace(shape, requests=requests)


def _asked(s: Situation, role: str) -> dict[str, int]:
    """Return the largest request by resource of the waiting pods of a role."""
    asked: dict[str, int] = {}
    for member in s.waiting:
        if member.role == role:
            for name, amount in member.pod.shape.requests:
                if name != PODS and amount > _unit(name, amount):
                    asked[name] = max(asked.get(name, 0), amount)
    return asked


def _unit(resource: str, amount: int) -> int:
    """In what steps a request is lowered: 1m of CPU, 1Mi of memory, one piece."""
    return _MEBIBYTE if amount >= _MEBIBYTE and resource != "cpu" else 1


def _lowered(
    s: Situation, trials: Trials, role: str, others: Mapping[str, int], name: str, most: int
) -> int | None:
    """Return the largest amount below ``most`` with which the job runs; None if none does."""
    unit = _unit(name, most)
    whole = -(-most // unit)

    def capped(fewer: int) -> Situation:
        caps = {**others, name: (whole - fewer) * unit}
        return s.reshaped(partial(asking_at_most, caps=caps), role)

    fewer = trials.least(1, whole - 1, capped)
    return None if fewer is None else (whole - fewer) * unit


def _together(s: Situation, trials: Trials, role: str, asked: Mapping[str, int]) -> dict[str, int]:
    """Return the largest amounts of several resources, one after the other; empty if none do."""
    caps = {name: _unit(name, most) for name, most in asked.items()}
    if not trials.runs(s.reshaped(partial(asking_at_most, caps=caps), role)):
        return {}
    for name, most in asked.items():
        others = {other: cap for other, cap in caps.items() if other != name}
        if trials.runs(s.reshaped(partial(asking_at_most, caps=others), role)):
            caps = others
        elif cap := _lowered(s, trials, role, others, name, most):
            caps[name] = cap
    return caps


def _lower(s: Situation, role: str, asked: Mapping[str, int], caps: Mapping[str, int]) -> Offer:
    steps = tuple(
        Step(
            kind=StepKind.LOWER_REQUEST,
            subject=s.job.key,
            role=role,
            field=name,
            before=str(asked[name]),
            after=str(cap),
        )
        for name, cap in caps.items()
    )
    of = f" of the {role} pods" if role else ""
    parts = [f"{n} from {value(n, asked[n])} to {value(n, cap)}" for n, cap in caps.items()]
    return Offer(steps, f"lower the request{of} for {' and '.join(parts)}")


def _selected(s: Situation, key: str, old: str, new: str) -> Situation:
    return s.reshaped(partial(selecting, key=key, old=old, new=new))


def _select(s: Situation, key: str, old: str, new: str) -> Offer:
    step = Step(kind=StepKind.CHANGE_SELECTOR, subject=s.job.key, field=key, before=old, after=new)
    says = f"change the node selector {key} from {old} to {new}"
    return Offer((step,), says if new else f"drop the node selector {key}={old}")


def _similar(s: Situation, key: str, old: str) -> list[str]:
    """Return the values of the label that nodes have and that look much like this one."""
    there = {node.labels[key] for node in s.room.nodes if key in node.labels} - {old}
    likeness = {new: SequenceMatcher(None, old, new).ratio() for new in there}
    alike = [new for new in there if likeness[new] >= _SIMILAR]
    return sorted(alike, key=lambda new: (-likeness[new], new))[:_MOST_VALUES]


def _next_free(port: HostPort, taken: list[HostPort]) -> int:
    numbers = {held.port for held in taken}
    return next((n for n in range(port.port + 1, _HIGHEST_PORT + 1) if n not in numbers), 0)


def _listening(shape: PodShape, old: HostPort, new: int) -> PodShape:
    ports = tuple(replace(p, port=new) if p == old else p for p in shape.host_ports)
    return replace(shape, host_ports=ports)
