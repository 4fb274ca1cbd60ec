"""``shuntyard logs-check``: what the agent would read from a file; needs no cluster."""

import sys
from argparse import Namespace
from collections.abc import Iterator
from typing import Final, TextIO

import msgspec
from msgspec.structs import replace

from cli import arguments, log_files, output, sanitize
from cli.errors import UnreadableError
from cli.views.amounts import duration
from cli.views.terminal import UNLIMITED, Terminal, of_stream, wrapped
from shared import labels, places
from shared.errors import InputError, MalformedError
from shared.parsing.checking import Finding, Read, check, is_document
from shared.places import MetricsPlace, PathVariables
from shared.progress import Goal
from shared.system_clock import SystemClock
from shared.terminal import plain

NOT_FOLLOWED: Final = 1
"""Exit code if a file has no metric that would be followed."""
UNREADABLE: Final = 2
"""Exit code if a file cannot be read, or an option cannot be used."""
MOST_SERIES: Final = 8
"""Names of further series that are shown without ``-o wide``."""
_POD: Final = PathVariables(namespace="", job="", pod="", uid="")
_BETTER: Final = {Goal.MIN: "lower is better", Goal.MAX: "higher is better"}
_WIDTH: Final = 10
_TO_COPY: Final = "try"
_COMPRESSED: Final = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"\xfd7zXZ\x00": "xz"}
"""First bytes of a compressed file, such as a container's rotated log, and its format."""


def run(options: Namespace, out: TextIO) -> int:
    """Check each file, print what was found, and return the exit code.

    A file that cannot be read is named on standard error; the others are checked.
    """
    findings: list[Finding] = []
    for file in options.files:
        try:
            findings.append(_check(file, _place(options)))
        except UnreadableError as error:
            print(f"{arguments.program()}: {sanitize.lines(str(error))}", file=sys.stderr)
    if options.output in output.DOCUMENTS:
        print(output.document(options, msgspec.json.encode(findings)), file=out)
    elif findings:
        wide = options.output == "wide"
        screen = of_stream(out)
        blocks = [
            "\n".join(map(plain, lines(finding, wide=wide, screen=screen))) for finding in findings
        ]
        print("\n\n".join(blocks), file=out)
    if len(findings) < len(options.files):
        return UNREADABLE
    return NOT_FOLLOWED if any(finding.metric is None for finding in findings) else 0


def lines(found: Finding, *, wide: bool, screen: Terminal = UNLIMITED) -> Iterator[str]:
    """Yield what is shown of a finding; ``wide``: with all series.

    What is there to be copied stays on one line, however long it is.
    """
    read = "no format" if found.format == "auto" else f"format {found.format}"
    counted = f"{found.lines} lines, " if found.lines else ""
    yield f"{log_files.name_of(found.file)}: {counted}{read}"
    for name, text in _facts(found, wide=wide):
        start = f"  {name + ':':{_WIDTH}}"
        yield from [start + text] if name == _TO_COPY else wrapped(start, text, screen)


def _facts(found: Finding, *, wide: bool) -> Iterator[tuple[str, str]]:
    if found.metric is None:
        yield "problem", found.why_not
        if found.regex:
            yield _TO_COPY, f"{labels.METRICS}: path=log; regex={found.regex}"
        return
    value = "nan" if found.value is None else f"{found.value:.6g}"
    better = "" if found.goal is None else f" ({_BETTER[found.goal]})"
    counted = "1 value" if found.points == 1 else f"{found.points} values"
    yield "metric", f"{found.metric}, {counted}, last {value}{better}"
    yield "step", _step(found)
    if found.remaining is not None:
        span = found.remaining
        yield "left", f"{duration(span.value)} ({duration(span.low)} to {duration(span.high)})"
    elif found.stated_left is not None:
        yield "left", f"{duration(found.stated_left)}, as the program itself states it"
    elif found.why_not:
        yield "left", found.why_not.removeprefix("time left: ")
    if found.attempts > 1:
        yield "attempts", f"{found.attempts}: the run was restarted"
    others = [name for name in found.series if name != found.metric]
    if others:
        hidden = 0 if wide else max(0, len(others) - MOST_SERIES)
        shown = ", ".join(others[: len(others) - hidden])
        yield "others", shown + (f" and {hidden} more, see -o wide" if hidden else "")


def _step(found: Finding) -> str:
    if found.step is None:
        return "unknown"
    unit = "epochs" if found.unit == "epoch" else "steps"
    of = "" if found.total_steps is None else f" of {found.total_steps}"
    return f"{round(found.step, 3):.10g}{of}, counted in {unit}"


def _place(options: Namespace) -> MetricsPlace:
    """Return what the annotation with these keys would say.

    Raises:
        UnreadableError: A value cannot be used; it is named by the annotation's key.
    """
    keys = {
        "format": options.format,
        "metric": options.metric,
        "total-steps": options.total_steps,
        "regex": options.regex,  # last, as it may hold a semicolon
    }
    text = "; ".join(f"{key}={value}" for key, value in keys.items() if value is not None)
    try:
        return places.metrics_place(text, _POD)
    except InputError as error:
        raise UnreadableError(str(error)) from error


def _check(file: str, place: MetricsPlace) -> Finding:
    name = "" if file == log_files.STANDARD_INPUT else file
    try:
        whole = is_document(name, place)
        with log_files.opened(file, whole=whole, clock=SystemClock()) as read:
            return _checked(read, name, place)
    except (InputError, MalformedError) as error:
        raise UnreadableError(f"{log_files.name_of(file)}: {error}") from error
    except OSError as error:
        raise UnreadableError(f"{log_files.name_of(file)}: {error.strerror}") from error


def _checked(read: Read, file: str, place: MetricsPlace) -> Finding:
    start = read(0, max(map(len, _COMPRESSED)))
    for magic, name in _COMPRESSED.items():
        if start.startswith(magic):
            text = "decompress it first, or pipe its text to `logs-check -`"
            raise MalformedError(f"compressed with {name}; {text}")
    found = check(read, file, place)
    return found if start else replace(found, why_not="no values found: it is empty")
