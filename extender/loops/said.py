"""Problems that last are said when they begin, and not at every look."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass


@dataclass
class Said:
    """What was wrong when it was looked at last; ``say`` is told what was not wrong before."""

    say: Callable[[str], None]
    _problems: frozenset[str] = frozenset()

    def look(self, problems: Iterable[str]) -> None:
        """Take over what is wrong now; nothing: all is well again."""
        found = dict.fromkeys(problems)
        for problem in found:
            if problem not in self._problems:
                self.say(problem)
        self._problems = frozenset(found)
