"""Hostile names and messages stay plain text in our logs and tables."""

import io
import json
import logging

import msgspec
import pytest

from cli import arguments, client, commands, manifest, sanitize
from cli.errors import UnansweredError
from cli.views import terminal
from shared import logs
from shared.errors import InputError
from shared.terminal import plain
from tests.fakes.answers import QUEUE

FORGED = (
    "a\n12:00:00.000 error   extender.main the cluster burns",
    'x\r\n{"level":"error","message":"forged"}',
    "\x1b[2J\x1b]0;title\x07",
    "\x9b31m",
    "abc\u202edesrever",
    "two\u2028lines",
    "\0",
)


@pytest.mark.parametrize("text", FORGED)
@pytest.mark.parametrize("line_format", logs.Format)
def test_a_text_makes_one_line_of_the_log(text: str, line_format: logs.Format) -> None:
    stream = io.StringIO()
    logger, root = logging.getLogger("hostile"), logging.getLogger()
    before, level = list(root.handlers), root.level
    try:
        logs.set_up(logs.Level.INFO, line_format, stream)
        logger.warning("refused: %s", text, extra={"pod": text})
    finally:
        root.handlers[:] = before
        root.setLevel(level)
    written = stream.getvalue()
    assert written.endswith("\n")
    assert len(written.splitlines()) == 1
    assert plain(written[:-1]) == written[:-1]
    if line_format is logs.Format.JSON:
        assert json.loads(written)["pod"] == text


@pytest.mark.parametrize("text", FORGED)
@pytest.mark.parametrize("output", ["table", "wide"])
def test_a_text_makes_one_cell_of_a_table(text: str, output: str) -> None:
    (entry,) = QUEUE.entries[:1]
    odd = msgspec.structs.replace(entry, job=text, message=text, estimate=text)
    body = msgspec.json.encode(msgspec.structs.replace(QUEUE, entries=(odd,)))
    answer = client.parse(body, type(QUEUE))
    options, screen = arguments.parse(["queue", "-o", output]), terminal.of_stream(io.StringIO())
    shown = "\n".join(commands.lines(answer, options, screen))
    usual = msgspec.structs.replace(QUEUE, entries=(entry,))
    expected = commands.lines(usual, options, screen)
    assert len(shown.splitlines()) == len(expected)
    assert all(plain(line) == line for line in shown.split("\n"))


@pytest.mark.parametrize("text", FORGED)
def test_json_keeps_its_meaning_without_control_codes(text: str) -> None:
    body = sanitize.raw_json(msgspec.json.encode({"a": text}))
    assert json.loads(body) == {"a": text}
    assert plain(body.decode()) == body.decode()


def test_texts_without_control_codes_are_unchanged() -> None:
    text = 'ß 漢 "quoted" \\n back\\\\slash \\u001b spelled'
    assert msgspec.json.decode(sanitize.json_texts(msgspec.json.encode(text))) == text


def test_an_error_shortens_a_long_value() -> None:
    error = InputError("annotation x", "9" * 10**6, "a number")
    assert len(str(error)) < 300
    assert len(error.value) == 10**6


LAUGHS = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 12)
)
MANIFESTS = {
    "a billion laughs": LAUGHS,
    "a list of itself": "&a [*a]",
    "a hundred thousand levels": "[" * 100_000,
    "no YAML": "\x00",
}


@pytest.mark.parametrize("text", MANIFESTS.values(), ids=MANIFESTS)
def test_a_manifest_that_is_a_bomb_is_refused(text: str, tmp_path) -> None:
    file = tmp_path / "job.yaml"
    file.write_text(text)
    with pytest.raises(UnansweredError):
        manifest.read(str(file))


def test_a_harmless_alias_is_accepted(tmp_path) -> None:
    file = tmp_path / "job.yaml"
    file.write_text("a: &a {x: 1}\nb: *a\nc: [*a, *a]\n")
    (document,) = manifest.read(str(file))
    assert document == {"a": {"x": 1}, "b": {"x": 1}, "c": [{"x": 1}, {"x": 1}]}
