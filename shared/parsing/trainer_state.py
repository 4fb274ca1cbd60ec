"""``trainer_state.json``, which Hugging Face's Trainer writes into every checkpoint.

It has the whole history of the run in full precision, with steps, as of the checkpoint. After a
long run it has 20 MB, so it is never in memory as a whole: a first pass locates the last entries, a
second one reads them.

Source:
    transformers 5.23, ``trainer_callback.py`` (``TrainerState``).
"""

from collections.abc import Callable, Iterator, Sequence
from math import isfinite
from typing import Final

from shared.errors import MalformedError
from shared.parsing.base import LONGEST_NAME, NOTHING, Point, plain
from shared.parsing.json_scan import JsonScan, decoded
from shared.parsing.metric_names import is_metric
from shared.parsing.structured import MOST_KEYS

MOST_ENTRIES: Final = 8192
"""Last entries of the history that are read; the reported curve has 32 points."""
MOST_HISTORY_BYTES: Final = 2 * 2**20
"""Size of these entries together; of more, only the last are read. An entry has 200 bytes."""
LONGEST_ENTRY: Final = 64 * 1024
"""Bytes; longer entries are skipped."""
_SUMMARY: Final = "train_runtime"


class TrainerState:
    """Reads the history; each reading returns what is new since the previous one.

    A history without the entry that was returned last is that of another run, or has grown by more
    than is read: then everything read is returned.
    """

    format = "trainer-state"

    def __init__(self) -> None:
        self._last_returned: int | None = None

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
        if self._last_returned in digests:
            begin = len(digests) - digests[::-1].index(self._last_returned)
        self._last_returned = digests[-1] if digests else None
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
    points = [
        Point(name, value, step, total_steps)
        for name, field in entry.items()
        if is_metric(name) and len(name) <= LONGEST_NAME and (value := plain(field)) is not None
    ]
    return points[:MOST_KEYS]
