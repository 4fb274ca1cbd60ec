"""What the answer of ``shuntyard explain`` looks like."""

from collections.abc import Iterator
from typing import Final

from cli import bargains
from cli.amounts import amount, coming, number
from cli.table import columns
from shared import api
from shared.explanation import Change, NodeGroup, Tried

MOST_NODES: Final = 10
"""Nodes that are shown without ``-o wide``."""
MOST_NAMED: Final = 3
"""Names of nodes with the same verdict that are shown without ``-o wide``."""
_WIDTH: Final = 10


def lines(answer: api.ExplainResponse, *, wide: bool) -> list[str]:
    """Return the lines to print; ``wide``: with all nodes by name."""
    parts = [list(_facts(answer)), tried(answer, wide=wide)]
    parts += [bargains.price(answer, wide=wide), bargains.rescales(answer, wide=wide)]
    parts.append(changes(answer))
    if answer.pod and (answer.nodes or not answer.tried):
        parts.append(_terms(answer, wide=wide))
    return [line for part in parts if part for line in ("", *part)][1:]


def _facts(answer: api.ExplainResponse) -> Iterator[str]:
    facts: dict[str, str] = {}
    if answer.pod:
        facts["Pod"] = f"{answer.namespace}/{answer.pod}"
    facts["Job"] = answer.job
    facts["State"] = answer.state or "not ours"
    if answer.pod:
        facts["Node"] = answer.node or "-"
    facts["Reason"] = (
        f"{answer.reason}: {answer.message}" if answer.reason else answer.message or "-"
    )
    if answer.warnings:
        facts["Warning"] = "; ".join(answer.warnings)
    if answer.pod:
        facts["Decision"] = answer.decision or "-"
    if answer.position is not None:
        facts["Queue"] = _queue(answer)
    if answer.needs:
        facts["Needs"] = _needs(answer)
    if answer.cause:
        facts["Decides"] = answer.cause
    facts.update(bargains.facts(answer))
    yield from (f"{name + ':':{_WIDTH}}{text}" for name, text in facts.items())


def _queue(answer: api.ExplainResponse) -> str:
    if not answer.ahead:
        return f"{answer.position}"
    shown = [f"{one.job} ({one.reason}, V {number(one.v)})" for one in answer.ahead[:MOST_NAMED]]
    more = len(answer.ahead) - len(shown)
    return f"{answer.position}, behind {', '.join(shown)}" + (f" and {more} more" if more else "")


def _needs(answer: api.ExplainResponse) -> str:
    fit = f"{_pods(answer.needs)} at once, {answer.fits} fit"
    missing = [f"{name} {amount(name, value)}" for name, value in sorted(answer.short.items())]
    return f"{fit}; short of {', '.join(missing)}" if missing else fit


def _pods(count: int) -> str:
    return f"{count} pod{'' if count == 1 else 's'}"


def tried(answer: api.ExplainResponse, *, wide: bool) -> list[str]:
    """Return the table of what the nodes said; empty if nothing was tried."""
    header = ["ROLE", "PODS", "ASK-FOR", "FIT", "NODES", "WHAT-THEY-SAY", "NAMES"]
    rows = [
        [*(_head(one) if not i else [""] * 4), *_verdict(group, wide=wide)]
        for one in answer.tried
        for i, group in enumerate(one.nodes)
    ]
    return columns(header, rows, right="PODS FIT NODES") if rows else []


def _head(one: Tried) -> list[str]:
    asked = [f"{n}={amount(n, v)}" for n, v in sorted(one.requests.items()) if n != "pods"]
    return [one.role or "-", str(one.pods), ",".join(asked) or "-", str(one.fits)]


def _verdict(group: NodeGroup, *, wide: bool) -> list[str]:
    says = group.says if group.causes else f"room for {group.fits}"
    shown = group.nodes if wide else group.nodes[:MOST_NAMED]
    more = "" if len(shown) == len(group.nodes) else ",…"
    return [str(len(group.nodes)), says, ",".join(shown) + more]


def changes(answer: api.ExplainResponse) -> list[str]:
    """Return what would make it run; empty if nothing is offered."""
    if not answer.changes:
        return []
    head = "What would make it run" + (", each alone:" if len(answer.changes) > 1 else ":")
    numbered = enumerate(answer.changes, start=1)
    return [head, *(f"{i:3}. {_change(c, answer.generated_at)}" for i, c in numbered)]


def _change(change: Change, now: float) -> str:
    times = [step.at for step in change.steps if step.at is not None]
    return f"{change.says} ({coming(max(times), now)})" if times else change.says


def _terms(answer: api.ExplainResponse, *, wide: bool) -> list[str]:
    shown = answer.nodes if wide else answer.nodes[:MOST_NODES]
    if not shown:
        return ["no node can take it now"]
    header = ["NODE", "TOTAL", "AFFINITY", "LOCALITY", "PACKING", "PRICE"]
    rows = [
        [n.node, *(f"{x:.3f}" for x in (n.total, n.affinity, n.locality, n.packing, n.price))]
        for n in shown
    ]
    left = len(answer.nodes) - len(shown)
    more = [f"… and {left} more, see -o wide"] if left else []
    return [*columns(header, rows, right=" ".join(header[1:])), *more]
