"""docs/gpus.md: what it names as tested is tested, and the causes are those that are shown."""

import re
from collections.abc import Iterator

from extender.core.cluster.reasons import Reason
from extender.core.records.migration_reasons import MigrationReason
from tests.architecture.sources import python_files
from tests.root import ROOT
from tests.unit.core.queue.test_device_causes import SITUATIONS

PAGE = (ROOT / "docs" / "gpus.md").read_text()
TEST = re.compile(r"`(tests/[\w/]+\.py)(?:::(\w+))?`")
OF_KUBE_SCHEDULER = {"Unschedulable"}


def tables() -> Iterator[tuple[list[str], list[list[str]]]]:
    """Yield the headings and the rows of each table."""
    for block in re.findall(r"^\|.*\n\|[-|: ]+\n(?:\|.*\n)+", PAGE, re.MULTILINE):
        heading, _, *rows = (line.strip("| ").split(" | ") for line in block.splitlines())
        yield heading, rows


def rows_of(*headings: str) -> list[list[str]]:
    (found,) = [rows for heading, rows in tables() if heading == list(headings)]
    return found


def test_every_row_names_a_test_that_there_is() -> None:
    found = [row for heading, rows in tables() if heading[-1] == "test" for row in rows]
    files = {str(path) for path in python_files("tests")}
    assert len(found) > 30
    for row in found:
        named = TEST.findall(row[-1])
        assert named, row
        for path, function in named:
            assert path in files, row
            assert not function or f"def {function}(" in (ROOT / path).read_text(), row


def test_every_cause_of_what_is_not_planned_is_shown_as_users_meet_it() -> None:
    rows = rows_of("not supported", "cause that is shown", "test")
    shown = {text for row in rows for text in re.findall(r"`… ?([^`]+)`", row[1])}
    assert shown == set(SITUATIONS)


def test_the_tokens_are_those_that_users_see() -> None:
    rows = rows_of("requested", "what happens", "token", "test")
    tokens = {token for row in rows for token in re.findall(r"`(\w+)`", row[2])}
    assert tokens
    assert tokens <= {*map(str, Reason), *map(str, MigrationReason), *OF_KUBE_SCHEDULER}
