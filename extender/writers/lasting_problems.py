"""Problems that last are logged when they begin, and not at every check."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass


@dataclass
class LastingProblems:
    """The problems of the last check.

    Attributes:
        report: Called with each problem that the check before did not find.
        texts: What was wrong.
    """

    report: Callable[[str], None]
    texts: tuple[str, ...] = ()

    def update(self, problems: Iterable[str]) -> None:
        """Replace the problems by those of a new check; none: all is well again."""
        found = tuple(dict.fromkeys(problems))
        for problem in found:
            if problem not in self.texts:
                self.report(problem)
        self.texts = found
