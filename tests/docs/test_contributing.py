"""The table of changes in CONTRIBUTING.md: its files exist, and three changes work by it alone."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from tests.architecture.sources import python_files
from tests.root import ROOT

FOLDERS: Final = ("agent", "cli", "devcluster", "docs", "extender", "shared", "tests")
"""Whose Python files the copy has: those of the changes, and what their tests import."""
_CODE = re.compile(r"`([A-Za-z.][\w./-]*/[\w./-]*|[\w-]+\.toml)`")


@dataclass(frozen=True)
class Row:
    """One change: the paths that each column names."""

    files: tuple[str, ...]
    tests: tuple[str, ...]
    pages: tuple[str, ...]


def rows() -> Mapping[str, Row]:
    """Return the rows of the table of twelve changes, by the change."""
    section = (ROOT / "CONTRIBUTING.md").read_text().split("## Twelve changes")[1].split("\n## ")[0]
    cells = [line.strip("|").split("|") for line in section.splitlines() if line.startswith("| ")]
    return {c[0].strip(): Row(*(tuple(_CODE.findall(x)) for x in c[1:])) for c in cells[1:]}


ROWS: Final = rows()


def test_there_are_twelve_changes() -> None:
    assert set(ROWS) == {
        "job kind", "placement rule", "metric with panel", "CLI column", "log format",
        "ordering weight", "Kubernetes version", "reason", "API write", "simulator baseline",
        "decision", "setting",
    }  # fmt: skip


@pytest.mark.parametrize("change", ROWS)
def test_a_row_names_files_tests_and_a_page_that_exist(change: str) -> None:
    row = ROWS[change]
    assert all((row.files, row.tests, row.pages))
    paths = [*row.files, *row.tests, *row.pages]
    assert [path for path in paths if not (ROOT / path).exists()] == []


Edits = Mapping[str, tuple[str, str]]
"""By file: a new text, and the old one that it is put before."""


@dataclass(frozen=True)
class Change:
    """A change as its row asks for it.

    Attributes:
        first: Edits after which ``run`` fails: what is missing is named by a test.
        rest: Edits after which it passes.
        run: Tests of the row.
    """

    first: Edits
    rest: Edits
    run: str


REASON: Final = """    MOON_PHASE = ReasonRecord(
        "MoonPhase",
        "the moon is not full",
        names_details=False,
        severity=Severity.NORMAL,
        actor=Actor.NONE,
        time_helps=True,
        nodes_help=False,
        room=Room.NOT_NEEDED,
        limit=Limit.NONE,
    )
"""
SETTING: Final = """    turn_share: Annotated[float, Doc("Part of a turn.")] = 0.5
"""
TABLE: Final = """NODES_TABLE = \"\"\"\\
NODE    STATE           GPU-FREE  ZONE  CPU-FREE        MEM-FREE   PODS  RESERVED  PRICE  AGENT
node-a  Ready,Cordoned    3 of 4  z     5.5 of 8  31.5 of 32 GiB  3/110         2    31%     3s
\"\"\"
"""
CHANGES: Final[Mapping[str, Change]] = {
    "reason": Change(
        first={"extender/core/cluster/reasons.py": (REASON, "    GANG_SIZE_UNKNOWN = ")},
        rest={
            "tests/unit/core/queue/test_reason_classes.py": (
                "    Reason.MOON_PHASE: {Is.TIME_HELPS, Is.NEEDS_NO_ROOM},\n",
                "    Reason.GANG_SIZE_UNKNOWN: {",
            ),
            "docs/reasons.md": ("| `MoonPhase` | the moon is not full | wait |\n", "| `Misc"),
        },
        run="tests/unit/core/queue/test_reason_classes.py",
    ),
    "CLI column": Change(
        first={
            "shared/readapi/api.py": ('    zone: str = ""\n', "\n\nclass NodesResponse"),
            "extender/core/explain/lists.py": (
                '            zone=node.labels.get("topology.kubernetes.io/zone", ""),\n',
                "            seats=reserved[node.name],\n",
            ),
            "cli/views/nodes.py": (
                '        Column("ZONE", lambda node: node.zone or NOTHING),\n',
                '        Column("CPU-FREE"',
            ),
        },
        rest={
            "tests/fakes/answers.py": (
                '            zone="z",\n',
                "            unschedulable=True,\n",
            ),
            "tests/unit/cli/test_cli.py": (TABLE, "JOBS_TABLE = "),
            "docs/cli.md": ("`ZONE` is that of its label. ", "`RESERVED` counts pods"),
        },
        run="tests/unit/cli/test_cli.py",
    ),
    "setting": Change(
        first={
            "extender/core/parameters/queue.py": (SETTING, "    tolerance: Annotated["),
        },
        rest={
            "extender/core/parameters/queue.py": ("Ge(0), Le(1), ", 'Doc("Part of a turn.")'),
        },
        run="tests/unit/core/test_parameters.py",
    ),
}


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the tree, as far as the three changes and their tests need it."""
    root = tmp_path_factory.mktemp("tree")
    pages = {Path(page) for change in CHANGES.values() for page in change.rest}
    for path in {*python_files(*FOLDERS), *pages}:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / path, root / path)
    shutil.copyfile(ROOT / "pyproject.toml", root / "pyproject.toml")
    return root


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_touches_what_its_row_names(change: str) -> None:
    row, made = ROWS[change], CHANGES[change]
    named = {*row.files, *row.tests, *row.pages}
    assert {*made.first, *made.rest, made.run} <= named


def test_three_changes_are_made_by_the_table_alone(copy: Path) -> None:
    for change in CHANGES.values():
        edit(copy, change.first)
    failed = run(copy, *(change.run for change in CHANGES.values()))
    assert {line.split("::")[0] for line in failed} == {change.run for change in CHANGES.values()}
    for change in CHANGES.values():
        edit(copy, change.rest)
    assert run(copy, *(change.run for change in CHANGES.values())) == []
    assert "turn_share" in page_of_settings(copy)


def edit(root: Path, edits: Edits) -> None:
    for name, (new, before) in edits.items():
        text = (root / name).read_text()
        assert before in text, name
        (root / name).write_text(text.replace(before, new + before, 1))


def run(root: Path, *tests: str) -> list[str]:
    """Run tests of the copy; return those that fail."""
    command = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "--no-header", "-rfE", *tests]
    output = python(root, *command)
    assert re.search(r"\d+ (passed|failed)", output), output
    return re.findall(r"^(?:FAILED|ERROR) (\S+)", output, re.MULTILINE)


def page_of_settings(root: Path) -> str:
    """Return the reference of settings as the copy makes it."""
    code = "import runpy; m = runpy.run_path('docs/generate.py'); print(*m['settings_page']())"
    return python(root, "-c", code)


def python(root: Path, *arguments: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(root), "PYTHONDONTWRITEBYTECODE": "1"}
    environment = {k: v for k, v in environment.items() if not k.startswith("PYTEST_")}
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=root,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout + done.stderr
