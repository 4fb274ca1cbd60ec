"""Problems that last are said when they begin, and not at every look."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass


@dataclass
class Said:
    """What was wrong when it was looked at last.

    Attributes:
        say: Is told what was not wrong before.
        problems: What was wrong.
    """

    say: Callable[[str], None]
    problems: tuple[str, ...] = ()

    def look(self, problems: Iterable[str]) -> None:
        """Take over what is wrong now; nothing: all is well again."""
        found = tuple(dict.fromkeys(problems))
        for problem in found:
            if problem not in self.problems:
                self.say(problem)
        self.problems = found
