"""``trainer_state.json``, which Hugging Face's Trainer writes into every checkpoint.

It has the whole history of the run in full precision, with steps. It is as old as the checkpoint.
After a long run it has some 20 MB, so it is never in memory as a whole: a first pass looks where
the last entries are, a second one reads those.

Source:
    transformers 5.23, ``trainer_callback.py`` (``TrainerState``).
"""

from collections.abc import Callable, Iterator, Sequence
from math import isfinite
from typing import Final

from agent.errors import MalformedError
from agent.parsing.base import LONGEST_NAME, NOTHING, Point, plain
from agent.parsing.json_scan import JsonScan, decoded
from agent.parsing.metric_names import is_metric
from agent.parsing.structured import MOST_KEYS

MOST_ENTRIES: Final = 8192
"""The last entries of the history that are told; a curve has 32 points in the end."""
MOST_HISTORY_BYTES: Final = 2 * 2**20
"""Of these entries together, of which the last ones are told; an entry has some 200 bytes."""
LONGEST_ENTRY: Final = 64 * 1024
"""Bytes; longer ones are passed over."""
_SUMMARY: Final = "train_runtime"


class TrainerState:
    """The history; each reading tells what the one before did not hold.

    A history without the entry that was told last is another run, or has gone on by more than is
    read: all that was read is told.
    """

    format = "trainer-state"

    def __init__(self) -> None:
        self._last_told: int | None = None

    def scan(self) -> JsonScan:
        """See ``DocumentParser``."""
        return JsonScan("log_history", MOST_ENTRIES)

    def points(self, scan: JsonScan, read: Callable[[int, int], bytes]) -> Iterator[Point]:
        """See ``DocumentParser``."""
        total = plain(scan.top().get("max_steps"))
        if not scan.is_found:
            raise MalformedError("without a list log_history")
        entries = _entries(scan.places(), read)
        digests = [hash(entry) for entry in entries]
        begin = 0
        if self._last_told in digests:
            begin = len(digests) - digests[::-1].index(self._last_told)
        self._last_told = digests[-1] if digests else None
        total_steps = int(total) if total is not None and 0 < total < 2**63 else None
        return (p for entry in entries[begin:] for p in _points(entry, total_steps))


def _entries(
    places: Sequence[tuple[int, int]], read: Callable[[int, int], bytes]
) -> Sequence[bytes]:
    if not places:
        return ()
    end = sum(places[-1])
    near = [(at, length) for at, length in places if end - at <= MOST_HISTORY_BYTES]
    if not near:
        return ()
    first = near[0][0]
    data = read(first, end - first)
    return [data[at - first : at - first + n] for at, n in near if n <= LONGEST_ENTRY]


def _points(text: bytes, total_steps: int | None) -> Sequence[Point]:
    entry = decoded(text.decode(errors="replace"))
    step = plain(entry.get("step"))
    if step is None or not isfinite(step) or _SUMMARY in entry:
        return NOTHING
    found = [
        Point(name, value, step, total_steps)
        for name, said in entry.items()
        if is_metric(name) and len(name) <= LONGEST_NAME and (value := plain(said)) is not None
    ]
    return found[:MOST_KEYS]
