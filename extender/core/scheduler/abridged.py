"""Short forms of answers about many nodes for the decision log.

kube-scheduler offers most pods nearly all nodes, in a random order that decides nothing. At
thousands of nodes the names were most of the log, and writing them most of an answer's cost.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

from extender.core.scheduler.filtering import FilterVerdict
from shared.model import NodeName

MOST_NAMED: Final = 64
"""So many nodes are always named."""

ALL: Final = "*"
"""Stands before the nodes that are *not* meant: of all nodes, those but these."""


def abridged(names: Collection[str], every: Mapping[NodeName, int]) -> tuple[str, ...]:
    """Return names sorted, or ``*`` and what is lacking of ``every``, where that is shorter.

    Args:
        names: Of nodes; with one twice, or one that is not in ``every``, all are named.
        every: All nodes by name.
    """
    if len(names) > MOST_NAMED:
        lacking = set(every).difference(names)
        if len(lacking) + len(names) == len(every) and len(lacking) < len(names):
            return (ALL, *sorted(lacking))
    return tuple(sorted(names))


def in_full(names: Sequence[str], every: Iterable[str]) -> tuple[str, ...]:
    """Return the names that ``abridged`` was given, in some order."""
    if not names or names[0] != ALL:
        return tuple(names)
    lacking = frozenset(names)
    return tuple(name for name in every if name not in lacking)


def verdict(
    given: FilterVerdict, every: Mapping[NodeName, int], offered: tuple[str, ...], count: int
) -> dict[str, object]:
    """Return which nodes passed and which failed, by message.

    Args:
        given: The answer.
        every: All nodes by name.
        offered: The nodes that were offered, abridged.
        count: How many were.
    """
    failed: dict[str, list[str]] = {}
    for name, message in given.failed.items():
        failed.setdefault(message, []).append(name)
    return {
        "passed": offered if len(given.passed) == count else abridged(given.passed, every),
        "failed": {message: abridged(names, every) for message, names in failed.items()},
    }


def scores(given: Sequence[tuple[str, int]]) -> dict[str, object]:
    """Return the nodes by score; of very many, those of the commonest score are not named."""
    by_score: dict[int, list[str]] = {}
    for name, score in given:
        by_score.setdefault(score, []).append(name)
    kept: dict[str, object] = {}
    if len(given) > MOST_NAMED:
        commonest = max(by_score, key=lambda score: (len(by_score[score]), score))
        kept[ALL] = commonest
        del by_score[commonest]
    return kept | {str(score): sorted(names) for score, names in sorted(by_score.items())}
