"""Uids of objects that are gone for good, so that a late delta does not bring them back."""

from collections.abc import Iterable
from typing import Final

from shared.model import Uid

MOST_REMEMBERED: Final = 4096
"""How many are remembered: late deltas come soon or never."""


class Removed:
    """The latest removed uids."""

    def __init__(self, uids: Iterable[Uid] = ()) -> None:
        self._uids = dict.fromkeys(uids)

    def __contains__(self, uid: str) -> bool:
        return uid in self._uids

    def add(self, uid: str) -> None:
        """Remember one more; an object without uid cannot be told from its successor."""
        if uid:
            self._uids[Uid(uid)] = None
        if len(self._uids) > MOST_REMEMBERED:
            del self._uids[next(iter(self._uids))]

    def all(self) -> tuple[Uid, ...]:
        """Oldest first."""
        return tuple(self._uids)
