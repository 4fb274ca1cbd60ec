"""Lines of nothing but names and values: ``step: 100, loss: 0.5``, ``[1,  2000] loss: 2.203``.

Too common to be a format of their own, so they are only read behind something that is: in a log
that DeepSpeed writes into, or behind the prefix of absl. The whole line must be pairs, with one way
of writing them: ``:`` or ``=``, and one separator.
"""

import re
from typing import Final, NamedTuple

from agent.parsing.naming import STEP_KEYS, is_metric
from agent.parsing.numbers import NUMBER

_NAME: Final = r"[A-Za-z_][A-Za-z0-9_./()-]{0,63}(?: [A-Za-z_(][A-Za-z0-9_./()-]{0,63}){0,3}"
_SEPARATOR: Final = r"(?:( ?[,;|] {0,4}| {1,4})|\Z)"
_PAIR: Final = re.compile(rf"({_NAME}) ?([:=]) {{0,8}}({NUMBER})%?{_SEPARATOR}")
_BRACKET: Final = re.compile(r"\[ *[0-9]{1,9}, *[0-9]{1,12}\] +")
_STEPS: Final = (*STEP_KEYS, "steps")


class Pairs(NamedTuple):
    """What a line of pairs says: where it is, and the metrics."""

    step: float | None
    metrics: dict[str, float]


def read(line: str) -> Pairs | None:
    """Return the pairs of a line; None if anything else is in it, or no pair is."""
    bracket = _BRACKET.match(line)
    at = bracket.end() if bracket else 0
    found: dict[str, float] = {}
    style = separator = None
    while (pair := _PAIR.match(line, at)) is not None:
        if style not in (None, pair[2]):
            return None
        style, at = pair[2], pair.end()
        found[pair[1]] = float(pair[3])
        if at == len(line):
            break
        if separator not in (None, pair[4].strip()):
            return None
        separator = pair[4].strip()
    if at != len(line) or not found:
        return None
    steps = [value for name in _STEPS for said, value in found.items() if said.lower() == name]
    metrics = {n: v for n, v in found.items() if is_metric(n.lower()) and n.lower() not in _STEPS}
    return Pairs(steps[0] if steps else None, metrics)
