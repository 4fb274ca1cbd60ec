"""Tables that snapshots share, and the check of the interpreter's reference counts."""

import pytest

from extender.store import table
from extender.store.table import Table


@pytest.mark.parametrize("counts", [(0, 0), (-1, 2)], ids=["always copies", "too large"])
def test_import_fails_if_unshared_tables_are_copied(
    monkeypatch: pytest.MonkeyPatch, counts: tuple[int, int]
) -> None:
    monkeypatch.setattr(table, "_UNSHARED", counts)
    with pytest.raises(ImportError, match="exact reference counts"):
        table.check_interpreter()


def test_import_fails_if_shared_tables_are_not_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "getrefcount", lambda _: 1)
    monkeypatch.setattr(table, "_UNSHARED", (1, 1))
    with pytest.raises(ImportError, match="exact reference counts"):
        table.check_interpreter()


def test_a_held_mapping_does_not_change() -> None:
    rows: Table[str, int] = Table()
    rows.set("a", 1)
    held = rows.frozen()
    rows.set("a", None)
    assert dict(held) == {"a": 1}
    assert dict(rows.frozen()) == {}


def test_rows_are_not_copied_without_a_reader() -> None:
    rows: Table[str, int] = Table()
    first = id(rows.frozen())
    rows.set("a", 1)
    assert id(rows.frozen()) == first
