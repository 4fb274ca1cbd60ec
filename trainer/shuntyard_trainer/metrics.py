"""Appends metrics to a file, as lines of JSON."""

from __future__ import annotations

import json
import logging
import operator
import os
import re
from pathlib import Path
from types import TracebackType
from typing import Any, SupportsFloat

from shuntyard_trainer.clock import Clock
from shuntyard_trainer.environment import Environment

log = logging.getLogger(__name__)

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_./-]{0,99}")
_TAKEN = frozenset({"time", "step", "total_steps"})


class MetricsWriter:
    """Appends one line per call: ``{"time": …, "step": …, "loss": …}``.

    A line is one write to a file opened for appending, so lines never mix, and a crash of the
    process loses no written line. Half a line left by a crash is ended before the next line. NaN
    and infinity are kept, as Python writes them. A write that fails later (a full disk) is logged
    once and counted, and training goes on.

    Args:
        path: The file; created with its directories; None: lines are discarded.
        clock: For tests.

    Raises:
        OSError: The file cannot be opened.
    """

    def __init__(self, path: str | os.PathLike[str] | None, *, clock: Clock | None = None) -> None:
        self._clock = clock or Clock()
        self.lost_lines = 0
        """Lines that could not be written."""
        self._closed = False
        self._descriptor: int | None = None
        self._torn = False
        if path is not None:
            self._open(Path(path))

    @classmethod
    def from_environment(cls, environment: Environment | None = None) -> MetricsWriter:
        """Return the writer of this pod's ``SHUNTYARD_METRICS_FILE``.

        Lines are discarded without that variable, and on every process of a pod but the first
        (``LOCAL_RANK``).

        Raises:
            SettingError: A variable cannot be used.
            OSError: The file cannot be opened.
        """
        here = environment or Environment.read()
        return cls(here.metrics_file if here.local_rank == 0 else None)

    def write(self, step: int, *, total_steps: int | None = None, **values: SupportsFloat) -> None:
        """Append a line.

        Args:
            step: Completed steps.
            total_steps: Where the run ends, if known.
            values: By name: letters, digits and ``_ . / -``, at most 100 characters. Anything
                that is a number, also a tensor of one element.

        Raises:
            ValueError: A name or the step cannot be used, there is no value, or the writer is
                closed.
            TypeError: A value is not a number.
            RuntimeError: A value is a tensor of several elements.
        """
        if self._closed:
            raise ValueError("the metrics writer is closed")
        line = self._line(step, total_steps, values)
        if self._descriptor is not None:
            self._append(self._descriptor, line)

    def close(self) -> None:
        """Close the file; a second time does nothing."""
        if self._descriptor is not None:
            os.close(self._descriptor)
        self._descriptor, self._closed = None, True

    def __enter__(self) -> MetricsWriter:  # noqa: PYI034 - Python 3.9 has no Self
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _open(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT
        self._descriptor = os.open(path, flags, 0o664)
        end = os.lseek(self._descriptor, 0, os.SEEK_END)
        self._torn = end > 0 and os.pread(self._descriptor, 1, end - 1) != b"\n"

    def _line(self, step: int, total_steps: int | None, values: dict[str, SupportsFloat]) -> str:
        if not values:
            raise ValueError("a line of metrics needs a value")
        record: dict[str, Any] = {"time": self._clock.now(), "step": _steps("step", step)}
        for name, value in values.items():
            if name in _TAKEN or not _NAME.fullmatch(name):
                raise ValueError(f"{name!r} cannot be the name of a metric")
            if isinstance(value, str):
                raise TypeError(f"{name}: {value!r} is a text, not a number")
            record[name] = number(value)
        if total_steps is not None:
            record["total_steps"] = _steps("total_steps", total_steps)
        return json.dumps(record) + "\n"

    def _append(self, descriptor: int, line: str) -> None:
        data = ("\n" + line if self._torn else line).encode()
        try:
            written = os.write(descriptor, data)
        except OSError as error:
            self._lose(str(error))
            return
        self._torn = written < len(data)
        if self._torn:
            self._lose(f"only {written} of {len(data)} bytes were written")

    def _lose(self, why: str) -> None:
        self.lost_lines += 1
        if self.lost_lines == 1:
            log.warning("a line of metrics is lost, training goes on: %s", why)


def number(value: Any) -> float:
    """Return a value as a float; also a tensor or an array of one element.

    Raises:
        TypeError: It is not a number.
        ValueError: It is a text, or has several elements.
        RuntimeError: It is a tensor of several elements.
    """
    item = getattr(value, "item", None)  # float() of a tensor that has a gradient warns
    return float(item() if callable(item) else value)


def _steps(name: str, value: int) -> int:
    steps = operator.index(value)
    if steps < 0:
        raise ValueError(f"{name}={value!r} is below 0")
    return steps
