"""Which part of a list is wanted: a list of a large cluster is told in pages."""

from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final

MOST_ENTRIES: Final = 500
"""Of one page: a job takes about a millisecond to describe, and its entry about a kilobyte."""


@dataclass(frozen=True)
class Page:
    """See the module.

    Attributes:
        limit: Entries at most.
        after: What the page before ended with (``Listed.more``); empty for the first page.
        namespaces: Whose entries are wanted; None: of all.
    """

    limit: int
    after: str = ""
    namespaces: AbstractSet[str] | None = None

    def shows(self, namespace: str) -> bool:
        """Say whether entries of a namespace are wanted."""
        return self.namespaces is None or namespace in self.namespaces


WHOLE: Final = Page(limit=10**9)
"""All of it."""
