"""A log line as a machine and as a person reads it."""

import io
import json
import logging
from collections.abc import Iterator

import pytest

from shared import logs
from shared.logs import Format, Level


@pytest.fixture
def root() -> Iterator[logging.Logger]:
    logger = logging.getLogger()
    handlers, level = logger.handlers[:], logger.level
    yield logger
    logger.handlers[:], logger.level = handlers, level


@pytest.mark.usefixtures("root")
def test_a_json_line_holds_message_and_fields() -> None:
    out = io.StringIO()
    logs.set_up(Level.INFO, Format.JSON, out)
    logging.getLogger("a.b").info("bound %s", "p", extra={"pod": "n/p", "seconds": 0.5})
    line = json.loads(out.getvalue())
    assert line.pop("time").endswith("Z")
    want = {"level": "info", "logger": "a.b", "message": "bound p", "pod": "n/p", "seconds": 0.5}
    assert line == want


@pytest.mark.usefixtures("root")
@pytest.mark.parametrize("line_format", Format)
def test_an_exception_is_part_of_its_line(line_format: Format) -> None:
    out = io.StringIO()
    logs.set_up(Level.INFO, line_format, out)
    try:
        _ = 1 / 0
    except ZeroDivisionError:
        logging.getLogger("a").exception("failed")
    assert "ZeroDivisionError" in out.getvalue()
    assert line_format is Format.TEXT or "ZeroDivisionError" in json.loads(out.getvalue())["error"]


@pytest.mark.usefixtures("root")
def test_a_text_line_is_for_people() -> None:
    out = io.StringIO()
    logs.set_up(Level.INFO, Format.TEXT, out)
    logging.getLogger("a").warning("gone", extra={"node": "x"})
    assert out.getvalue().split(maxsplit=1)[1] == "warning a gone node=x\n"


@pytest.mark.usefixtures("root")
def test_lines_below_the_level_are_not_written() -> None:
    out = io.StringIO()
    logs.set_up(Level.WARNING, Format.TEXT, out)
    logging.getLogger("a").info("nothing happened")
    assert not out.getvalue()


@pytest.mark.usefixtures("root")
def test_bound_fields_are_on_every_line_and_the_lines_own_win() -> None:
    out = io.StringIO()
    logs.set_up(Level.INFO, Format.JSON, out)
    logger = logs.bound(logging.getLogger("a"), job="j", pod="first")
    logger.info("one")
    logger.info("two", extra={"pod": "second"})
    lines = [json.loads(line) for line in out.getvalue().splitlines()]
    assert [(line["job"], line["pod"]) for line in lines] == [("j", "first"), ("j", "second")]
