"""What ``shuntyard queue --by namespace`` shows: who holds how much, and may hold how much."""

from typing import Final

from cli.amounts import amount, number
from cli.table import columns
from shared.tenancy import NamespaceEntry, NamespacesResponse

NOTHING: Final = "-"
_COMMON: Final = ("cpu", "memory", "pods")
_OFF: Final = "fair share is off: shares, weights and limits decide nothing (tenancy.fair_share)"
_STALE: Final = "this replica does not act, the queue is as it last saw it"


def table(answer: NamespacesResponse, *, wide: bool) -> list[str]:
    """Return the lines of the table."""
    others = sorted({r for one in answer.entries for r in one.held} - {*_COMMON})
    held = [*_COMMON, *others]
    header = ["NAMESPACE", "WAITING", "RUNNING", *(name.upper() for name in held)]
    header += ["SHARE", "WEIGHT", "GUARANTEED", "LIMIT"]
    left = {"NAMESPACE", "PROBLEM"}
    rows = [_row(entry, held, wide=wide) for entry in answer.entries]
    notes = [_OFF] * (not answer.fair_share) + [_STALE] * (not answer.acting)
    if not rows:
        return [*notes, "there is no job"]
    header += ["PROBLEM"] if wide else []
    return [*notes, *columns(header, rows, right=" ".join(set(header) - left))]


def _row(entry: NamespaceEntry, held: list[str], *, wide: bool) -> list[str]:
    row = [entry.namespace, str(entry.waiting), str(entry.running)]
    row += [amount(name, entry.held.get(name, 0)) for name in held]
    row += [f"{entry.share:.3f}", number(entry.weight), _share(entry.guaranteed_share)]
    row += [NOTHING if entry.limit is None else f"{entry.limit:.3f}"]
    return row + ([entry.problem or NOTHING] if wide else [])


def _share(share: float) -> str:
    return f"{share:.3f}" if share else NOTHING
