"""Which worker of an admitted job belongs on which node, now."""

from collections import Counter
from collections.abc import Mapping, Sequence

from extender.engine.admission.slot_plan import SlotPlan, Span
from shared.model import NodeName


def workers(plan: SlotPlan, slot: int) -> tuple[NodeName, ...]:
    """Return the nodes of the workers in a slot, by index.

    Those who leave first have the highest index, so the places that are kept longest come first.
    """
    span = plan.at(slot)
    if span is None:
        return ()
    places = [
        (-_until(plan, slot, node, number), node)
        for node, count in span.workers.items()
        for number in range(1, count + 1)
    ]
    return tuple(node for _, node in sorted(places))


def servers(plan: SlotPlan, slot: int) -> tuple[NodeName, ...]:
    """Return the nodes of the job's other pods in a slot; which is which does not matter."""
    span = plan.at(slot)
    return () if span is None else tuple(sorted(Counter(span.servers).elements()))


def left(nodes: Sequence[NodeName], taken: Sequence[NodeName]) -> tuple[NodeName, ...]:
    """Return the nodes that are left when some are taken, in order; a strange one takes none."""
    gone = Counter(taken)
    found = []
    for node in nodes:
        if gone[node] > 0:
            gone[node] -= 1
        else:
            found.append(node)
    return tuple(found)


def _until(plan: SlotPlan, slot: int, node: NodeName, number: int) -> int:
    """Return the last slot of those in a row in which the node has so many workers."""
    end = slot - 1
    for span in plan.spans:
        if span.last <= end:
            continue
        if span.first > end + 1 or _there(span, node) < number:
            break
        end = span.last
    return end


def _there(span: Span, node: NodeName) -> int:
    counts: Mapping[NodeName, int] = span.workers
    return counts.get(node, 0)
