"""The cast of the demo: the recording is in its format, and the picture is drawn of it."""

import importlib.util
import json
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from types import ModuleType

import pytest

from cli import arguments
from tests.docs.pages import ROOT

FILE = ROOT / "docs" / "cast.py"
CAST = ROOT / "docs" / "figures" / "demo.cast"
PICTURE = CAST.with_suffix(".svg")
MOST_BYTES = 60_000
HEADER = {"version": 2, "width": 20, "height": 3}


@pytest.fixture(scope="module")
def casts() -> ModuleType:
    """Return docs/cast.py, which is no module of a package."""
    spec = importlib.util.spec_from_file_location("docs_cast", FILE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look it up
    spec.loader.exec_module(module)
    return module


def written(directory: Path, *events: tuple[float, str, str], **header: int) -> Path:
    file = directory / "a.cast"
    lines = [{**HEADER, **header}, *events]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return file


def test_the_picture_is_drawn_of_the_recording(casts: ModuleType) -> None:
    """A failure: run ``python docs/cast.py``."""
    assert PICTURE.read_text() == casts.draw(CAST)
    assert len(PICTURE.read_bytes()) < MOST_BYTES
    ET.fromstring(PICTURE.read_text())


def test_every_command_of_the_recording_exists_and_printed_something(casts: ModuleType) -> None:
    _, _, lines, _ = casts.read(CAST)
    starts = [number for number, line in enumerate(lines) if line.startswith("$ shuntyard ")]
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        arguments.parse(lines[start].split()[2:])
        assert end > start + 1, lines[start]
    assert len(starts) > 3


def test_lines_come_at_their_times_and_scroll_when_the_screen_is_full(
    casts: ModuleType, tmp_path: Path
) -> None:
    lines = [(float(i), "o", f"\x1b[32mline\x1b[0m <{i}>\r\n") for i in range(5)]
    picture = casts.draw(written(tmp_path, *lines))
    assert '<tspan class="g">line</tspan> &lt;4&gt;' in picture
    scroll, cover = picture.split("@keyframes ")[1:]
    assert scroll.count("translateY(0px)") == 4  # before the first line, and up to three of them
    assert "translateY(-36px)" in scroll
    assert "translateY(90px)" in cover


BAD = {
    "another version": ([(0.0, "o", "a\r\n")], {"version": 1}, "version 2"),
    "times that go back": ([(2.0, "o", "a\r\n"), (1.0, "o", "b\r\n")], {}, "order of its times"),
    "input": ([(0.0, "i", "a")], {}, "expected output"),
    "a cursor that moves": ([(0.0, "o", "\x1b[2Ja\r\n")], {}, "moves the cursor"),
}


@pytest.mark.parametrize(("events", "header", "says"), BAD.values(), ids=BAD)
def test_what_cannot_be_drawn_is_refused(
    casts: ModuleType,
    tmp_path: Path,
    events: list[tuple[float, str, str]],
    header: dict[str, int],
    says: str,
) -> None:
    with pytest.raises(ValueError, match=says):
        casts.draw(written(tmp_path, *events, **header))
