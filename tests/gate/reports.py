"""What a run has recorded, judged: files over their budget, and reads that no table names."""

import json
import tomllib
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.gate.graph import Graph

BUDGETS: Final = Path(__file__).with_name("budgets.toml")


@dataclass(frozen=True)
class Record:
    """What `tests/gate/records.py` wrote of one lane.

    Attributes:
        seconds: Of each test, with its set-up and tear-down.
        reads: Of each test module, files that are no Python.
    """

    seconds: Mapping[str, float]
    reads: Mapping[str, list[str]]

    @classmethod
    def read(cls, file: Path) -> "Record":
        """Read the lane's file; nothing was recorded if it is absent."""
        return cls(**json.loads(file.read_text())) if file.exists() else cls({}, {})

    def shares(self) -> dict[str, float]:
        """Return each file's share of the lane in percent, the largest first."""
        files: dict[str, float] = defaultdict(float)
        for test, seconds in self.seconds.items():
            files[test.partition("::")[0]] += seconds
        total = sum(files.values()) or 1.0
        longest = sorted(files.items(), key=lambda file: -file[1])
        return {path: 100 * seconds / total for path, seconds in longest}


@dataclass(frozen=True)
class Budget:
    """Shares of a lane in percent: a machine that is slow for all tests breaks none."""

    each: float
    files: Mapping[str, float]

    @classmethod
    def of_lane(cls, lane: str) -> "Budget":
        """Read the lane's table."""
        table = tomllib.loads(BUDGETS.read_text())[lane]
        return cls(table["each"], table.get("files", {}))

    def exceeded(self, record: Record) -> list[str]:
        """Return a line for each file that took more than its share."""
        return [
            f"{path}: {share:.1f} % of the lane, budget {self.files.get(path, self.each):g} %"
            for path, share in record.shares().items()
            if share > self.files.get(path, self.each)
        ]


def unnamed_reads(record: Record, found: Graph, tracked: frozenset[str]) -> list[str]:
    """Return a line for each module that reads files although `inputs` does not say so."""
    reached: dict[str, frozenset[str] | None] = {}
    lines = []
    for module, paths in sorted(record.reads.items()):
        unnamed = []
        for path in sorted(tracked.intersection(paths)):
            if path not in reached:
                first = found.readers.of(path)
                reached[path] = None if first is None else found.reached(first)
            users = reached[path]
            if users is not None and module not in users:
                unnamed.append(path)
        if unnamed:
            more = f" and {len(unnamed) - 1} more" if unnamed[1:] else ""
            lines.append(f"{module} reads {unnamed[0]}{more}: name it in tests/gate/inputs.py")
    return lines
