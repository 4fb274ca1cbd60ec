"""Golden cases: what goes in and what comes out, as files that people read, too."""

import json
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

GOLDEN = Path(__file__).parents[3] / "golden"
DIGITS = 9
"""Enough to see a change, few enough for another processor's last bit."""

Run = Callable[[dict[str, Any]], Any]


def cases(runs: Mapping[str, Run]) -> dict[str, tuple[Run, Path]]:
    """The cases of each policy, by ``policy/case``."""
    return {
        f"{area}/{path.name.removesuffix('.input.json')}": (run, path)
        for area, run in runs.items()
        for path in sorted((GOLDEN / area).glob("*.input.json"))
    }


def check(run: Run, path: Path, *, update: bool, digits: int = DIGITS) -> None:
    """What comes out is what was recorded; with ``update`` it is recorded first."""
    got = _rounded(run(json.loads(path.read_text())), digits)
    output = path.with_name(path.name.replace(".input.", ".output."))
    if update:
        output.write_text(json.dumps(got, indent=2, ensure_ascii=False) + "\n")
    assert got == json.loads(output.read_text())


def check_complete(area: str) -> None:
    """Every case has both its files, and there is one at least."""
    inputs = {p.name.split(".")[0] for p in (GOLDEN / area).glob("*.input.json")}
    outputs = {p.name.split(".")[0] for p in (GOLDEN / area).glob("*.output.json")}
    assert inputs == outputs != set()


def _rounded(value: Any, digits: int) -> Any:
    if isinstance(value, float):
        return round(value, digits) if math.isfinite(value) else str(value)
    if isinstance(value, dict):
        return {key: _rounded(entry, digits) for key, entry in value.items()}
    return [_rounded(entry, digits) for entry in value] if isinstance(value, list) else value
