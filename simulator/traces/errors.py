"""Errors of reading a trace.

::

    InputError
    └── TraceError    a trace cannot be read; names file, line, field and what was expected
"""

from pathlib import Path

from shared.errors import InputError


class TraceError(InputError):
    """A trace cannot be read.

    Args:
        path: The file.
        line: The line, from 1; 0: the file as a whole.
        field: The column or key.
        value: The value found.
        expected: What was expected, in words.
    """

    def __init__(self, path: Path, line: int, field: str, value: str, expected: str) -> None:
        place = f"{path}:{line}" if line else str(path)
        super().__init__(f"{place}: {field}", value, expected)
        self.path = path
        self.line = line
