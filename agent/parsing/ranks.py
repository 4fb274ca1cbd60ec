"""Lines of several processes in one log, told apart by the prefix that torchrun puts before them.

::

    [default0]:Train Epoch: 1 [0/60000 (0%)]<TAB>Loss: 2.300000      torchrun --tee 3
    [rank1]: RuntimeError: boom                                       tracebacks of torch

Source:
    torch 2.13, ``distributed/elastic/multiprocessing`` (``[<role><local rank>]:``).
"""

import re
from typing import Final

_PREFIX: Final = re.compile(r"\[[A-Za-z_]{1,32}([0-9]{1,5})\]:")
NO_RANK: Final = -1
"""Of lines without a prefix."""


def split_rank(line: str) -> tuple[int, str]:
    """Return the local rank that printed a line, or ``NO_RANK``, and what it printed."""
    if line.startswith("[") and (prefix := _PREFIX.match(line)):
        return int(prefix[1]), line[prefix.end() :]
    return NO_RANK, line
