"""Offers that change the job: its requests, its gang size, its demands on nodes."""

from collections.abc import Iterator, Mapping
from difflib import SequenceMatcher
from functools import partial
from typing import Final

from msgspec.structs import replace

from extender.core.cluster.slice_request import LevelRequest
from extender.core.explain import verdicts
from extender.core.explain.trials import Offer, Scenario, Trials
from extender.core.nodes.feasibility import taint_text
from extender.core.nodes.node_table import conflicts
from extender.core.placement import planner
from shared import labels
from shared.amounts import amount
from shared.model import PODS, HostPort, PodShape, Taint, Toleration
from shared.readapi.explanation import Step, StepKind

_MEBIBYTE: Final = 2**20
_SIMILAR: Final = 0.6
"""From this ratio of ``SequenceMatcher`` on, another value of a label may be a typing error."""
_MOST_VALUES: Final = 3
_HIGHEST_PORT: Final = 65535
_NO_CAPS: Final[Mapping[str, int]] = {}
_CONDITIONS: Final = "node.kubernetes.io/"
"""Taints of this domain are conditions of a node: they are repaired, not tolerated."""


def lower_requests(s: Scenario, trials: Trials) -> Iterator[Offer]:
    """Yield the largest request with which the job runs, by resource; else several together."""
    for role in s.roles:
        requests = _requests(s, role)
        caps = {
            name: _largest(s, trials, role, resource=name, most=most)
            for name, most in requests.items()
        }
        lowered = [{name: cap} for name, cap in caps.items() if cap is not None]
        if not lowered and len(requests) > 1:
            together = _together(s, trials, role, requests)
            lowered = [together] if together else []
        for amounts in lowered:
            yield _lower(s, role, requests, amounts)


def lower_gang_size(s: Scenario, trials: Trials) -> Iterator[Offer]:
    """Yield the largest gang size with which the job runs."""
    size, fits = s.job.min_available or 0, s.fits
    smaller = size - planner.missing(s.job) + fits
    if not 0 < smaller < size or not fits or not trials.runs(s.with_gang_size(smaller)):
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


def change_selector(s: Scenario, trials: Trials) -> Iterator[Offer]:
    """Yield, by key of ``nodeSelector``, a similar value that nodes have, or no value."""
    for key, old in dict.fromkeys(pair for m in s.waiting for pair in m.pod.shape.node_selector):
        for new in (*_similar(s, key, old), ""):
            if trials.runs(_selected(s, key, old, new)):
                yield _select(s, key, old, new)
                break


def drop_affinity(s: Scenario, trials: Trials) -> Iterator[Offer]:
    """Yield the pods without their required node affinity."""
    if any(m.pod.shape.affinity is not None for m in s.waiting) and trials.runs(
        s.with_shapes(without_affinity)
    ):
        step = Step(kind=StepKind.DROP_AFFINITY, subject=s.job.key)
        yield Offer((step,), "drop the required node affinity")


def tolerate(s: Scenario, trials: Trials) -> Iterator[Offer]:
    """Yield the fewest taints to tolerate."""
    taints = blocking_taints(s)
    if not taints or not trials.runs(s.with_shapes(partial(with_tolerations, taints=taints))):
        return
    needed = trials.needed(
        list(range(len(taints))),
        lambda kept: s.with_shapes(partial(with_tolerations, taints=[taints[i] for i in kept])),
    )
    texts = [taint_text(taints[i]) for i in needed]
    steps = tuple(
        Step(kind=StepKind.ADD_TOLERATION, subject=s.job.key, field=text) for text in texts
    )
    yield Offer(steps, f"add a toleration of {' and '.join(texts)}")


def change_port(s: Scenario, trials: Trials) -> Iterator[Offer]:
    """Yield the next host port that is free on every node, by port that conflicts."""
    ports = dict.fromkeys(port for m in s.waiting for port in m.pod.shape.host_ports)
    taken = [port for ports_of_node in s.node_table.ports for port in ports_of_node]
    for port in ports:
        if not conflicts([port], taken):
            continue
        free = _next_free(port, [*taken, *ports])
        if free and trials.runs(s.with_shapes(partial(_with_port, old=port, new=free))):
            old, new = str(port.port), str(free)
            step = Step(
                kind=StepKind.CHANGE_PORT,
                subject=s.job.key,
                field=port.protocol,
                before=old,
                after=new,
            )
            yield Offer((step,), f"change the host port {port.protocol} {old} to {new}")


def drop_topology(s: Scenario, trials: Trials) -> Iterator[Offer]:
    """Yield the gang without a topology level that it requires, of the gang or of its slices."""
    levels = (
        level
        for pod_set in s.job.spec.topology
        for level in {one.key: one for one in pod_set.request.keys}.values()
    )
    for level in dict.fromkeys(levels):
        if trials.runs(s.without_level(level)):
            yield without_topology(s, level)


def without_topology(s: Scenario, level: LevelRequest) -> Offer:
    """Return the offer to drop a level that the job requires, with the size of its slices."""
    stated = [(level.key, level.whole or level.text), *([level.size] if level.size else [])]
    steps = tuple(
        Step(kind=StepKind.DROP_TOPOLOGY, subject=s.job.key, field=key, before=text)
        for key, text in stated
    )
    texts = " and ".join(f"{key} (now {text!r})" for key, text in stated)
    noun = "annotations" if level.size else "annotation"
    return Offer(steps, f"drop the {noun} {texts}")


def share_devices(s: Scenario, trials: Trials) -> Iterator[Offer]:
    """Yield the gang with several pods on one shared device."""
    if s.job.spec.shares_devices or not trials.runs(s.with_shared_devices()):
        return
    key, allowed = labels.SHARE, "allowed"
    step = Step(kind=StepKind.SET_ANNOTATION, subject=s.job.key, field=key, after=allowed)
    yield Offer((step,), f"set the annotation {key} to {allowed}: pods of the job share devices")


def blocking_taints(s: Scenario) -> list[Taint]:
    """Return the taints that keep waiting pods away and that a pod may tolerate."""
    taints: dict[str, Taint] = {}
    blocking = {
        detail
        for verdict in verdicts.judge(s.groups, s.node_table)
        for causes in verdict.by_causes
        for token, detail in causes
        if token == "taint"  # noqa: S105 - a cause, no secret
    }
    for node in s.node_table.nodes:
        for taint in node.taints:
            if taint_text(taint) in blocking and not taint.key.startswith(_CONDITIONS):
                taints.setdefault(taint_text(taint), taint)
    return [taints[text] for text in sorted(taints)]


def with_tolerations(shape: PodShape, taints: list[Taint]) -> PodShape:
    """Return the shape with a toleration of each taint."""
    more = tuple(Toleration(t.key, "Equal", t.value, t.effect) for t in taints)
    return replace(shape, tolerations=(*shape.tolerations, *more))


def with_selector(shape: PodShape, key: str, old: str, new: str) -> PodShape:
    """Return the shape with another value of a selector's key; without the key if it is empty."""
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


def with_requests_at_most(shape: PodShape, caps: Mapping[str, int]) -> PodShape:
    """Return the shape with requests of at most these amounts."""
    requests = tuple((name, min(v, caps.get(name, v))) for name, v in shape.requests)
    return replace(shape, requests=requests)


def _requests(s: Scenario, role: str) -> dict[str, int]:
    """Return the largest request by resource of the waiting pods of a role."""
    requests: dict[str, int] = {}
    for member in s.waiting:
        if member.role == role:
            for name, units in member.pod.shape.requests:
                if name != PODS and units > _unit(name, units):
                    requests[name] = max(requests.get(name, 0), units)
    return requests


def _unit(resource: str, units: int) -> int:
    """Return the step by which a request is lowered: 0.001 CPU, 1 MiB memory, 1 of others."""
    return _MEBIBYTE if units >= _MEBIBYTE and resource != "cpu" else 1


def _largest(
    s: Scenario,
    trials: Trials,
    role: str,
    *,
    resource: str,
    most: int,
    others: Mapping[str, int] = _NO_CAPS,
) -> int | None:
    """Return the largest request below ``most`` with which the job runs; None if none does.

    ``others`` are the caps of other resources.
    """
    unit = _unit(resource, most)
    whole = -(-most // unit)

    def capped(fewer: int) -> Scenario:
        caps = {**others, resource: (whole - fewer) * unit}
        return s.with_shapes(partial(with_requests_at_most, caps=caps), role)

    fewer = trials.least(1, whole - 1, capped)
    return None if fewer is None else (whole - fewer) * unit


def _together(
    s: Scenario, trials: Trials, role: str, requests: Mapping[str, int]
) -> dict[str, int]:
    """Return the largest requests of several resources, one after the other; empty if none do."""
    caps = {name: _unit(name, most) for name, most in requests.items()}
    if not trials.runs(s.with_shapes(partial(with_requests_at_most, caps=caps), role)):
        return {}
    for name, most in requests.items():
        others = {other: cap for other, cap in caps.items() if other != name}
        if trials.runs(s.with_shapes(partial(with_requests_at_most, caps=others), role)):
            caps = others
        elif cap := _largest(s, trials, role, resource=name, most=most, others=others):
            caps[name] = cap
    return caps


def _lower(s: Scenario, role: str, requests: Mapping[str, int], caps: Mapping[str, int]) -> Offer:
    steps = tuple(
        Step(
            kind=StepKind.LOWER_REQUEST,
            subject=s.job.key,
            role=role,
            field=name,
            before=str(requests[name]),
            after=str(cap),
        )
        for name, cap in caps.items()
    )
    of = f" of the {role} pods" if role else ""
    parts = [f"from {amount(n, requests[n])} to {amount(n, cap)}" for n, cap in caps.items()]
    return Offer(steps, f"lower the request{of} {' and '.join(parts)}")


def _selected(s: Scenario, key: str, old: str, new: str) -> Scenario:
    return s.with_shapes(partial(with_selector, key=key, old=old, new=new))


def _select(s: Scenario, key: str, old: str, new: str) -> Offer:
    step = Step(kind=StepKind.CHANGE_SELECTOR, subject=s.job.key, field=key, before=old, after=new)
    text = f"change the node selector {key} from {old} to {new}"
    return Offer((step,), text if new else f"drop the node selector {key}={old}")


def _similar(s: Scenario, key: str, old: str) -> list[str]:
    """Return the most similar values of the label that nodes have."""
    values = {node.labels[key] for node in s.node_table.nodes if key in node.labels} - {old}
    likeness = {new: SequenceMatcher(None, old, new).ratio() for new in values}
    alike = [new for new in values if likeness[new] >= _SIMILAR]
    return sorted(alike, key=lambda new: (-likeness[new], new))[:_MOST_VALUES]


def _next_free(port: HostPort, taken: list[HostPort]) -> int:
    numbers = {port.port for port in taken}
    return next((n for n in range(port.port + 1, _HIGHEST_PORT + 1) if n not in numbers), 0)


def _with_port(shape: PodShape, old: HostPort, new: int) -> PodShape:
    ports = tuple(replace(p, port=new) if p == old else p for p in shape.host_ports)
    return replace(shape, host_ports=ports)
