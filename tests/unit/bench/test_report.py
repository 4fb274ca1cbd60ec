"""The performance page shows the kept results."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from bench import profiles, report
from tests.root import ROOT

GANG: Mapping[str, Any] = {
    "scheduler": "plain",
    "shape": "2x500",
    "pods": 1000,
    "wanted": 1000,
    "bound_per_second": 400.2,
    "p50_seconds": 1.0,
    "p99_seconds": 2.0,
    "partial_gangs": 0,
    "ratio_to_plain": 1.0,
    "ratios": [1.0, 1.0],
    "cpu_ms_per_pod": {"scheduler": 1.0, "etcd": 0.5},
}
META: Mapping[str, Any] = {
    "command": "python -m bench gang",
    "machine": {"cpu": "CPU", "cores": 2, "memory_bytes": 2**34, "system": "Linux 6"},
    "versions": {"kubernetes": "1.36.3"},
    "at": 0.0,
    "busy": False,
}


def page(folder: Path, name: str, rows: list[Mapping[str, Any]], **more: object) -> str:
    content = {**META, **more, "rows": rows}
    (folder / "x.json").write_text(json.dumps(content))
    return report.filled(
        f"Before.\n<!-- table {name} x.json -->\nold\n<!-- end -->\nAfter.", folder
    )


def test_a_table_is_written_between_its_marks_with_its_source(tmp_path: Path) -> None:
    short = {**GANG, "scheduler": "intree", "pods": 10, "ratio_to_plain": 0.1}
    short["ratios"] = [0.05, 0.2]
    text = page(tmp_path, "rates", [GANG, short])
    assert text.startswith("Before.\n<!-- table rates x.json -->\n| scheduler | 2 by 500 |")
    assert "| plain | 400 (1.00) |" in text
    assert "| intree | 400 (0.10; 0.05-0.20), 10 of 1000 bound |" in text
    assert (
        "`python -m bench gang` · 1970-01-01, [machine and versions](performance/x.json)." in text
    )
    assert text.endswith("<!-- end -->\nAfter.")
    assert "old" not in text
    assert report.filled(text, tmp_path) == text


def test_without_bound_pods_no_waiting_time_is_shown(tmp_path: Path) -> None:
    none = {**GANG, "scheduler": "intree", "pods": 0, "p50_seconds": 0.0, "p99_seconds": 0.0}
    text = page(tmp_path, "waits", [GANG, none])
    assert "| plain | 1.0 / 2.0 |" in text
    assert "| intree | none bound |" in text


def test_the_command_is_shown_without_the_files_it_wrote(tmp_path: Path) -> None:
    command = "python -m bench gang --rounds 3 --json x.json --plot x.svg"
    text = page(tmp_path, "rates", [GANG], command=command)
    assert "`python -m bench gang --rounds 3` · " in text


def test_a_busy_machine_is_named(tmp_path: Path) -> None:
    assert "busy" in page(tmp_path, "rates", [GANG], busy=True)


def test_a_missing_result_is_shown_as_not_measured(tmp_path: Path) -> None:
    text = report.filled("<!-- table rates none.json -->\n<!-- end -->", tmp_path)
    assert "Not measured yet" in text


def test_a_plot_is_shown_once_it_is_drawn(tmp_path: Path) -> None:
    block = "<!-- table picture x.svg -->\n<!-- end -->"
    assert "Not measured yet" in report.filled(block, tmp_path)
    (tmp_path / "x.svg").write_text("<svg/>")
    assert "![x](performance/x.svg)" in report.filled(block, tmp_path)


def test_an_unknown_table_raises_an_error(tmp_path: Path) -> None:
    with pytest.raises(KeyError, match="guesses"):
        page(tmp_path, "guesses", [GANG])


@pytest.mark.parametrize("name", report.PAGES, ids=str)
def test_the_pages_show_the_kept_results(name: Path) -> None:
    text = (ROOT / name).read_text()
    assert report.filled(text, ROOT / report.FOLDER) == text, "run python -m bench report"


def test_takeovers_are_listed_by_outage_with_their_worst(tmp_path: Path) -> None:
    row = {"happening": "killed", "acting_seconds": 16.0, "bound_seconds": 18.04, "bound": 8}
    rows = [{**row, "wanted": 8}, {**row, "acting_seconds": 17.0, "wanted": 8, "bound": 7}]
    text = page(tmp_path, "takeover", rows)
    assert "| killed | 2 | 16.5 s | 17.0 s | 18.0 s | 18.0 s |" in text
    assert "Gangs of 8 that were incomplete at the end: 1." in text


PARTS: dict[str, tuple[str, str | None]] = {
    "the event loop waits": ("~:<method 'poll' of 'select.epoll' objects>", profiles.WAITING),
    "a decision": ("/x/extender/core/queue/decision.py:decide", "decisions (core)"),
    "reading a pod": ("/x/shared/kube/parse.py:decode_pod", "reading API objects"),
    "writing one": ("/x/shared/kube/writes.py:bind", "API client and writes"),
    "the start": ("~:<built-in method builtins.compile>", None),
    "something else": ("/x/collections/__init__.py:update", profiles.OTHER),
}


@pytest.mark.parametrize(("function", "part"), PARTS.values(), ids=PARTS)
def test_a_function_counts_for_its_part(function: str, part: str | None) -> None:
    assert profiles.part_of(function) == part
