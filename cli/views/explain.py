"""What ``shuntyard explain`` shows: why a job or pod waits, and what would make it run."""

from collections.abc import Iterator, Mapping
from typing import Final

from cli.views import admission, ledger, training
from cli.views.amounts import coming, coming_between, duration, number
from cli.views.table import NOTHING, Column, more, table
from cli.views.terminal import UNLIMITED, Colour, Terminal, wrapped
from shared.amounts import amount, resource_name
from shared.readapi import api
from shared.readapi.answer import FaultEntry
from shared.readapi.explanation import Change, NodeGroup, Tried

MOST_NODES: Final = 10
"""Nodes that are shown without ``-o wide``."""
MOST_NAMED: Final = 3
"""Names of nodes with the same verdict that are shown without ``-o wide``."""
MOST_PARKINGS: Final = 5
"""Parkings that are shown without ``-o wide``, the last ones."""
_WIDTH: Final = 10
_STATES: Final = {
    "gated": "waiting",
    "held": "held by other gates",
    "seated": "planned",
    "loose": "released",
    "direct": "waiting, without the gate",
    "in_tree": "left to kube-scheduler",
    "bound": "on its nodes",
}
"""States of pods in words; others are words."""


def explain(answer: api.ExplainResponse, *, wide: bool, screen: Terminal = UNLIMITED) -> list[str]:
    """Return the lines to print; ``wide``: with all nodes by name."""
    parts = [list(labelled(_facts(answer), screen)), tried(answer, wide=wide, screen=screen)]
    parts += [admission.price(answer, wide=wide), admission.rescales(answer, wide=wide)]
    parts.append(_parkings(answer, wide=wide, screen=screen))
    parts.append(changes(answer, screen))
    if answer.pod and (answer.nodes or not answer.tried):
        parts.append(_scores(answer, wide=wide))
    return [line for part in parts if part for line in ("", *part)][1:]


def labelled(
    facts: Mapping[str, str] | Iterator[tuple[str, str]], screen: Terminal = UNLIMITED
) -> Iterator[str]:
    """Yield each fact: its name, a colon, and its text in a column of its own."""
    pairs = facts.items() if isinstance(facts, Mapping) else facts
    for name, text in pairs:
        yield from wrapped(f"{name + ':':{_WIDTH}}", text, screen)


def pods(count: int) -> str:
    """Return ``1 pod`` or ``3 pods``."""
    return f"{count} pod{'' if count == 1 else 's'}"


def _facts(answer: api.ExplainResponse) -> Mapping[str, str]:
    facts: dict[str, str] = {}
    if answer.pod:
        facts["Pod"] = f"{answer.namespace}/{answer.pod}"
    facts["Job"] = answer.job
    facts["State"] = _STATES.get(answer.state, answer.state) or "not managed by Shuntyard"
    if answer.pod:
        facts["Node"] = answer.node or NOTHING
    facts |= _reason(answer)
    facts |= _notices(answer)
    if answer.pod:
        facts["Decision"] = answer.decision or NOTHING
    if answer.position is not None:
        facts["Queue"] = _queue(answer)
    if answer.estimate:
        facts["Starts"] = _starts(answer)
    if answer.needs:
        facts["Needs"] = _needs(answer)
    if answer.cause:
        facts["Cause"] = resource_name(answer.cause)
    return facts | dict(_progress(answer)) | dict(admission.facts(answer))


def _reason(answer: api.ExplainResponse) -> Mapping[str, str]:
    """Return why it waits; nothing of one that runs."""
    text = ": ".join(part for part in (answer.reason, answer.message) if part)
    return {"Reason": text} if text else {}


def _progress(answer: api.ExplainResponse) -> Iterator[tuple[str, str]]:
    """Yield the last value, the step, the time left; and why something cannot be read."""
    entry = answer.progress
    if entry is not None:
        shown = [training.metric(entry), f"step {training.step(entry)}", training.category(entry)]
        left = "" if entry.remaining is None else f"{training.eta(entry)} left"
        read = f"read as {entry.source}" if entry.source else ""
        yield "Progress", ", ".join(text for text in (*shown, left, read) if text)
        if entry.evidence:
            lines = (training.evidence(entry), training.further(entry))
            yield "Curve", ", ".join(text for text in lines if text)
    if answer.progress_problem:
        yield "Metrics", answer.progress_problem


def _notices(answer: api.ExplainResponse) -> Mapping[str, str]:
    """Return what is wrong with its training, and which of its keys have no effect."""
    faults = [_fault(fault, answer.generated_at) for fault in answer.faults]
    notices = {"Training": "; ".join(faults), "Warning": "; ".join(answer.warnings)}
    return {name: text for name, text in notices.items() if text}


def _fault(fault: FaultEntry, now: float) -> str:
    return f"{fault.kind}, found {duration(now - fault.since)} ago: {fault.message}"


def _starts(answer: api.ExplainResponse) -> str:
    """Return when its job starts, with the band, and what that rests on."""
    at, now = answer.estimated_start, answer.generated_at
    if at is None:
        return f"unknown: {answer.estimate}"
    between = coming_between(answer.earliest_start, answer.latest_start, now)
    return f"{coming(at, now)}{between}: {answer.estimate}"


def _queue(answer: api.ExplainResponse) -> str:
    if not answer.ahead:
        return f"{answer.position}"
    shown = [
        f"{job.job} ({job.reason}, score {number(job.v)})" for job in answer.ahead[:MOST_NAMED]
    ]
    hidden = len(answer.ahead) - len(shown)
    rest = f" and {hidden} more" if hidden else ""
    return f"{answer.position}, behind {', '.join(shown)}{rest}"


def _needs(answer: api.ExplainResponse) -> str:
    fit = f"{pods(answer.needs)} at once, {answer.fits} fit"
    short = sorted(answer.short.items())
    missing = [amount(name, value) for name, value in short]
    return f"{fit}; missing: {', '.join(missing)}" if missing else fit


def tried(answer: api.ExplainResponse, *, wide: bool, screen: Terminal = UNLIMITED) -> list[str]:
    """Return the table of what each group of nodes answered; empty if no node was tried."""
    rows = [
        (attempt if not i else None, group)
        for attempt in answer.tried
        for i, group in enumerate(attempt.nodes)
    ]
    role = Column[tuple[Tried | None, NodeGroup]](
        "ROLE", lambda row: row[0].role or NOTHING if row[0] else ""
    )
    columns: list[Column[tuple[Tried | None, NodeGroup]]] = [
        *([role] if any(attempt.role for attempt in answer.tried) else []),
        Column("PODS", lambda row: str(row[0].pods) if row[0] else "", right=True),
        Column("REQUESTS", lambda row: _requests(row[0]) if row[0] else "", least=12),
        Column("FIT", lambda row: str(row[0].fits) if row[0] else "", right=True),
        Column("NODES", lambda row: str(len(row[1].nodes)), right=True),
        Column("VERDICT", lambda row: _verdict(row[1]), least=20, colour=_verdict_colour),
        Column("NAMES", lambda row: _names(row[1], wide=wide), least=10),
    ]
    return table(columns, rows, wide=wide, screen=screen) if rows else []


def _verdict_colour(row: tuple[Tried | None, NodeGroup]) -> Colour:
    return Colour.NONE if row[1].causes else Colour.GREEN


def _requests(attempt: Tried) -> str:
    requests = sorted(attempt.requests.items(), key=lambda one: ("/" not in one[0], one[0]))
    parts = [amount(n, v) for n, v in requests if n != "pods"]
    return ", ".join(parts) or NOTHING


def _verdict(group: NodeGroup) -> str:
    return group.says if group.causes else f"room for {group.fits}"


def _names(group: NodeGroup, *, wide: bool) -> str:
    shown = group.nodes if wide else group.nodes[:MOST_NAMED]
    return ",".join(shown) + ("" if len(shown) == len(group.nodes) else ",…")


def changes(answer: api.ExplainResponse, screen: Terminal = UNLIMITED) -> list[str]:
    """Return the changes that would make it run; empty without any."""
    if not answer.changes:
        return []
    head = "What would make it run" + (", each alone:" if len(answer.changes) > 1 else ":")
    numbered = enumerate(answer.changes, start=1)
    texts = [(f"{i:3}. ", _change(change, answer.generated_at)) for i, change in numbered]
    return [head, *(line for start, text in texts for line in wrapped(start, text, screen))]


def _parkings(answer: api.ExplainResponse, *, wide: bool, screen: Terminal) -> list[str]:
    """Return when the job was parked and what that cost; empty if it never was."""
    if not answer.parkings:
        return []
    shown = answer.parkings if wide else answer.parkings[-MOST_PARKINGS:]
    return table(ledger.parking_columns(answer.generated_at), shown, screen=screen)


def _change(change: Change, now: float) -> str:
    times = [step.at for step in change.steps if step.at is not None]
    return f"{change.says} ({coming(max(times), now)})" if times else change.says


def _scores(answer: api.ExplainResponse, *, wide: bool) -> list[str]:
    shown = answer.nodes if wide else answer.nodes[:MOST_NODES]
    if not shown:
        return ["no node can take it now"]
    columns: list[Column[api.NodeTerms]] = [
        Column("NODE", lambda node: node.node),
        Column("TOTAL", lambda node: f"{node.total:.3f}", right=True),
        Column("AFFINITY", lambda node: f"{node.affinity:.3f}", right=True),
        Column("LOCALITY", lambda node: f"{node.locality:.3f}", right=True),
        Column("PACKING", lambda node: f"{node.packing:.3f}", right=True),
        Column("PRICE", lambda node: f"{node.price:.3f}", right=True),
    ]
    if any(node.preference is not None for node in shown):
        columns.append(Column("PREFERENCE", lambda node: _term(node.preference), right=True))
    if any(node.sparing is not None for node in shown):
        columns.append(Column("SPARING", lambda node: _term(node.sparing), right=True))
    return [*table(columns, shown), *more(len(answer.nodes) - len(shown))]


def _term(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.3f}"
