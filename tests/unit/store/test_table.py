"""A table that snapshots share: what somebody holds of it stays, and nothing else is copied."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extender.store.table import Table

Look = Callable[[Mapping[str, int]], Any]
LOOKS: dict[str, Look] = {
    "the mapping": lambda frozen: frozen,
    "its items": lambda frozen: frozen.items(),
    "its values": lambda frozen: frozen.values(),
    "an iterator over its keys": iter,
    "an iterator over its values": lambda frozen: iter(frozen.values()),
    "a bound method": lambda frozen: frozen.__getitem__,
    "a generator": lambda frozen: (value for value in frozen.values()),
}


def table(**rows: int) -> Table[str, int]:
    made: Table[str, int] = Table()
    for key, value in rows.items():
        made.set(key, value)
    return made


def read(look: Any) -> Any:
    if isinstance(look, Mapping):
        return dict(look)
    return look("a") if callable(look) else sorted(look)


@pytest.mark.parametrize("name", LOOKS)
def test_what_is_held_does_not_change(name: str) -> None:
    told = read(LOOKS[name](table(a=1, b=2).frozen()))
    changed = table(a=1, b=2)
    held = LOOKS[name](changed.frozen())
    changed.set("a", 5)
    changed.set("b", None)
    changed.set("c", 7)
    assert read(held) == told
    assert dict(changed.frozen()) == {"a": 5, "c": 7}


def copies(changing: Table[str, int], value: int) -> bool:
    """Say whether a change copied the rows: then both are there at once, at two addresses."""
    before = id(changing._rows)
    changing.set("a", value)
    return id(changing._rows) != before


def test_nothing_is_copied_while_nobody_looks() -> None:
    changing = table(a=1)
    for value in range(100):
        assert changing.frozen()["a"] == changing.frozen().get("a")
        assert not copies(changing, value)


def test_who_looks_costs_one_copy_and_who_has_looked_away_none() -> None:
    changing = table(a=1)
    held = changing.frozen()
    assert copies(changing, 2)
    assert not copies(changing, 3)
    again = changing.frozen()
    del again
    assert not copies(changing, 4)
    assert held == {"a": 1}


KEYS = st.sampled_from("abcd")


@given(
    st.lists(st.tuples(KEYS, st.none() | st.integers(0, 9), st.sampled_from(["", "look", "away"])))
)
def test_every_look_stays_what_it_was(steps: list[tuple[str, int | None, str]]) -> None:
    changing, model = table(), dict[str, int]()
    looks: list[tuple[Mapping[str, int], dict[str, int]]] = []
    for key, value, act in steps:
        changing.set(key, value)
        model = {k: v for k, v in {**model, key: value}.items() if v is not None}
        if act == "look":
            looks.append((changing.frozen(), model))
        elif act == "away" and looks:
            del looks[0]
        assert changing.frozen() == model
        assert all(held == was for held, was in looks)


def test_a_loop_over_it_may_change_it() -> None:
    changing = table(a=1, b=2)

    def renamed() -> Iterator[str]:
        for key in changing.frozen():
            changing.set(f"{key}{key}", 0)
            yield key

    assert list(renamed()) == ["a", "b"]
    assert set(changing.frozen()) == {"a", "b", "aa", "bb"}
