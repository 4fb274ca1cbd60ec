"""`shuntyard prices`: the table of nodes, the heat map of slots, and its picture."""

import builtins
import re
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from cli.__main__ import main
from cli.errors import UnansweredError
from cli.views import heatmap, terminal
from cli.views.terminal import Terminal
from shared.readapi.pricing import SlotRow
from tests.fakes.answers import PRICES, SLOTS
from tests.unit.cli.conftest import ReadApi

TABLE = """\
NODE      CPU  MEMORY  NVIDIA.COM/GPU  DEAREST         TIMES-IDLE
node-a  0.750   0.250               -  cpu                  31.62
node-b  0.000   0.000           1.000  nvidia.com/gpu         100
"""
PLAIN = Terminal(60, blocks=False, colours=False)
COLOURED = Terminal(60, blocks=True, colours=True)
WITH_SLOTS = msgspec.structs.replace(PRICES, slots=SLOTS)


@pytest.fixture
def planned(read_api: ReadApi) -> ReadApi:
    read_api.answers["/v1/prices"] = (200, msgspec.json.encode(WITH_SLOTS))
    return read_api


@pytest.fixture
def in_utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def test_the_table_has_a_column_for_each_resource(
    read_api: ReadApi, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["prices"]) == 0
    assert capsys.readouterr().out == TABLE
    assert read_api.asked == ["/v1/prices"]


@pytest.mark.usefixtures("read_api")
def test_wide_adds_pods_and_explains_the_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["prices", "-o", "wide"]) == 0
    head, columns, *_ = capsys.readouterr().out.splitlines()
    assert head == "0: idle; 1: full, 100 times the idle price"
    assert "PODS" in columns


def test_without_nodes_it_says_so(read_api: ReadApi, capsys: pytest.CaptureFixture[str]) -> None:
    empty = msgspec.structs.replace(PRICES, nodes=())
    read_api.answers["/v1/prices"] = (200, msgspec.json.encode(empty))
    assert main(["prices"]) == 0
    assert capsys.readouterr().out == "no nodes\n"


@pytest.mark.usefixtures("in_utc")
def test_the_map_has_nodes_down_and_slots_across(
    planned: ReadApi, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["prices", "--slots", "--resource", "cpu"]) == 0
    assert planned.asked == ["/v1/prices?slots=true"]
    head, first, second, axis, *legend = capsys.readouterr().out.splitlines()
    assert head == "prices of cpu in 3 slots of 10m00s; share 0.5"
    assert first == "node-a +1  ████▒▒▒▒····"
    assert second == "node-b     ············"
    assert axis.split() == ["00:10"]
    assert legend[-1] == "ln of the price of cpu: 0 to 4"


def test_without_a_resource_the_most_expensive_one_of_each_slot_is_shown() -> None:
    drawn = heatmap.lines(SLOTS, None, PLAIN, wide=False)
    assert drawn[2].split() == ["node-b", "%%%%%%%%...."]
    assert sum("ln of the price" in line for line in drawn) == 2


def test_a_column_of_several_slots_shows_the_most_expensive() -> None:
    prices = tuple(1.0 if i == 70 else 0.0 for i in range(100))
    slots = msgspec.structs.replace(
        SLOTS, slots=100, rows=(SlotRow(nodes=("n",), prices={"cpu": prices}),)
    )
    head, row, *_ = heatmap.lines(slots, "cpu", PLAIN, wide=False)
    assert "2 slots a column" in head
    assert row.split()[1] == "." * 35 + "#" + "." * 14


def test_colours_are_backgrounds_and_end_with_the_row() -> None:
    _, row, *_ = heatmap.lines(SLOTS, "cpu", COLOURED, wide=False)
    painted = re.findall(r"\x1b\[48;5;(\d+)m( +)", row)
    assert [(int(colour), len(cell)) for colour, cell in painted] == [
        (heatmap.COLOURS[-1], 4),
        (heatmap.COLOURS[5], 4),
        (heatmap.COLOURS[0], 4),
    ]
    assert row.endswith("\x1b[0m")


def test_many_rows_are_cut_but_not_in_wide() -> None:
    rows = tuple(
        SlotRow(nodes=(f"n{i:03}",), prices={"cpu": (i / 100, 0.0, 0.0)}) for i in range(50)
    )
    slots = msgspec.structs.replace(SLOTS, rows=rows)
    short = heatmap.lines(slots, "cpu", PLAIN, wide=False)
    assert "… and 10 more, see -o wide" in short
    assert len(heatmap.lines(slots, "cpu", PLAIN, wide=True)) == len(short) + 10 - 1


def test_an_unpriced_resource_is_an_error_that_lists_the_priced_ones() -> None:
    with pytest.raises(
        UnansweredError, match="no slot has a price for tpu; resources with prices: cpu, nvid"
    ):
        heatmap.lines(SLOTS, "tpu", PLAIN, wide=False)


class Tty:
    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


COLOURS = {
    "a terminal": ({}, True),
    "NO_COLOR": ({"NO_COLOR": "1"}, False),
    "an empty NO_COLOR": ({"NO_COLOR": ""}, True),
    "a dumb terminal": ({"TERM": "dumb"}, False),
}


@pytest.mark.parametrize(("environment", "want"), COLOURS.values(), ids=COLOURS)
def test_colours_are_for_terminals_unless_turned_off(
    environment: dict[str, str], want: bool
) -> None:
    assert terminal.of_stream(Tty(), environment).colours is want  # type: ignore[arg-type]


def test_without_admission_by_price_the_reason_is_shown(
    read_api: ReadApi, capsys: pytest.CaptureFixture[str]
) -> None:
    off = msgspec.structs.replace(PRICES, slots_problem="no job is admitted by price")
    read_api.answers["/v1/prices"] = (200, msgspec.json.encode(off))
    assert main(["prices", "--slots"]) == 1
    assert "no job is admitted by price" in capsys.readouterr().err


@pytest.mark.usefixtures("planned")
def test_the_picture_has_a_map_for_each_resource_and_is_reproducible(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [tmp_path / "a.svg", tmp_path / "b.svg"]
    for file in files:
        assert main(["prices", "--svg", str(file)]) == 0
    assert capsys.readouterr().out == "".join(f"wrote {file}\n" for file in files)
    text = files[0].read_text()
    assert [
        x for x in ("cpu, slots of 10m00s", "nvidia.com/gpu", "node-a +1") if x not in text
    ] == []
    assert files[1].read_text() == text


@pytest.mark.usefixtures("planned")
def test_a_picture_that_cannot_be_written_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["prices", "--svg", str(tmp_path / "nowhere" / "a.svg")]) == 1
    assert "--svg: " in capsys.readouterr().err


@pytest.mark.usefixtures("planned")
def test_without_matplotlib_the_extra_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    known = builtins.__import__

    def without(name: str, *rest: object, **more: object) -> object:
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return known(name, *rest, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(builtins, "__import__", without)
    assert main(["prices", "--svg", str(tmp_path / "a.svg")]) == 1
    assert "pip install matplotlib" in capsys.readouterr().err


WRONG = {
    "a picture as json": ["prices", "--svg", "a.svg", "-o", "json"],
    "a resource of nothing": ["prices", "--resource", "cpu"],
}


@pytest.mark.parametrize("argv", WRONG.values(), ids=WRONG)
def test_options_that_do_not_go_together_are_code_2(argv: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(argv)
    assert ended.value.code == 2
