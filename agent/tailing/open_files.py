"""At most so many open files for all followers together."""

from collections import OrderedDict
from collections.abc import Callable


class OpenFiles:
    """Who has a file open; whoever used his longest ago is asked to close it.

    Args:
        most: Open at one time.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._closers: OrderedDict[int, Callable[[], None]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._closers)

    def use(self, owner: object, close: Callable[[], None]) -> None:
        """``owner`` uses its file now; ``close`` closes it if others need the room."""
        self._closers[id(owner)] = close
        self._closers.move_to_end(id(owner))
        while len(self._closers) > self._most:
            _, close_oldest = self._closers.popitem(last=False)
            close_oldest()

    def release(self, owner: object) -> None:
        """``owner`` has closed its file."""
        self._closers.pop(id(owner), None)
