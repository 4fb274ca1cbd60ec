"""Draw the cast of the demo: ``python docs/cast.py`` makes docs/figures/demo.svg of demo.cast.

Every line of the transcript is in the picture once. An animation uncovers the lines at their times
and scrolls; where the reader prefers no motion it shows the first screen. A new recording, in some
minutes:
``python -m devcluster.demo --once --cast docs/figures/demo.cast``.
"""  # noqa: INP001 - a script, no package

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Final

FIGURES: Final = Path(__file__).resolve().parent / "figures"
CAST: Final = FIGURES / "demo.cast"
PICTURE: Final = FIGURES / "demo.svg"
LINE: Final = 18
COLUMN: Final = 8.4
MARGIN: Final = 12
END_SECONDS: Final = 6.0
_STYLE: Final = re.compile(r"\x1b\[([0-9;]*)m")
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_COLOURS: Final = {
    "1": "b", "2": "d", "31": "r", "32": "g", "33": "y", "34": "u", "35": "m", "36": "c",
}  # fmt: skip
_CSS: Final = """\
text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;fill:#d7dae0;white-space:pre}
.b{font-weight:700}.d{fill:#8a919e}.r{fill:#ff8080}.g{fill:#7fd88f}.y{fill:#e6c15c}
.u{fill:#82aaff}.m{fill:#d59cf0}.c{fill:#6fd3e0}.p{fill:#ffffff;font-weight:700}
@media (prefers-reduced-motion:reduce){.scroll,.cover{animation:none!important}}
"""


@dataclass(frozen=True)
class Step:
    """From a moment on so many lines of the transcript are there."""

    at: float
    lines: int


def read(cast: Path) -> tuple[int, int, list[str], list[Step]]:
    """Return width and height in characters, the lines, and when each of them comes.

    Raises:
        ValueError: The file is no asciicast of version 2, or a program moved the cursor.
    """
    first, *rest = [json.loads(line) for line in cast.read_text().splitlines()]
    if first.get("version") != 2:  # noqa: PLR2004 - of the format
        raise ValueError(f"{cast}: expected an asciicast of version 2")
    lines, steps, last = [""], list[Step](), 0.0
    for at, kind, text in rest:
        if kind != "o" or at < last:
            raise ValueError(f"{cast}: expected output in the order of its times, got {kind} {at}")
        parts = text.replace("\r\n", "\n").split("\n")
        lines[-1] += parts[0]
        lines += parts[1:]
        steps.append(Step(at, len(lines) - 1))
        last = at
    for line in lines:
        if _CONTROL.search(_STYLE.sub("", line)):
            raise ValueError(f"{cast}: a program moves the cursor, which is not drawn: {line!r}")
    return first["width"], first["height"], lines[: steps[-1].lines], steps


def draw(cast: Path) -> str:
    """Return the picture."""
    width, height, lines, steps = read(cast)
    seconds = steps[-1].at + END_SECONDS
    wide, high = width * COLUMN + 2 * MARGIN, height * LINE + 2 * MARGIN
    below = len(lines) * LINE
    texts = "\n".join(_text(line, number) for number, line in enumerate(lines) if line)
    moves = [
        f"@keyframes {name}{{{''.join(_frames(steps, seconds, height, by_cover=name == 'cover'))}}}"
        for name in ("scroll", "cover")
    ]
    timing = f"{seconds:.1f}s step-end infinite"
    shown = f".scroll{{animation:scroll {timing}}}.cover{{animation:cover {timing}}}"
    return f"""\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide:g} {high:g}" role="img">
<title>Shuntyard's commands on the demo: the jobs, why one waits, and what would make it run</title>
<style>
{_CSS}{shown}
{moves[0]}
{moves[1]}
</style>
<rect width="100%" height="100%" rx="8" fill="#1b1e25"/>
<svg x="{MARGIN}" y="{MARGIN}" width="{width * COLUMN:g}" height="{height * LINE}">
<g class="scroll">
{texts}
<rect class="cover" y="0" width="100%" height="{below}" fill="#1b1e25" \
transform="translate(0 {height * LINE})"/>
</g>
</svg>
</svg>
"""


def _frames(steps: Sequence[Step], seconds: float, height: int, *, by_cover: bool) -> Iterator[str]:
    """Yield the keyframes: the cover begins below the last line, the text scrolls above the end."""
    for step in (Step(0.0, 0), *steps):
        lines = step.lines if by_cover else -max(0, step.lines - height)
        yield f"{100 * step.at / seconds:.2f}%{{transform:translateY({lines * LINE}px)}}"


def _text(line: str, number: int) -> str:
    """Return a line as an element; the parts of another colour are elements in it."""
    y = (number + 1) * LINE - 5
    kind = ' class="p"' if line.startswith("$ ") else ""
    return f'<text{kind} xml:space="preserve" y="{y}">{"".join(_spans(line))}</text>'


def _spans(line: str) -> Iterator[str]:
    styles: list[str] = []
    for i, part in enumerate(_STYLE.split(line)):
        if i % 2:
            codes = part.split(";") if part else ["0"]
            styles = [] if "0" in codes else styles
            styles += [_COLOURS[code] for code in codes if code in _COLOURS]
        elif part:
            text = escape(part, quote=False)
            yield f'<tspan class="{" ".join(styles)}">{text}</tspan>' if styles else text


if __name__ == "__main__":
    PICTURE.write_text(draw(CAST))
