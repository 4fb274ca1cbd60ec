"""Commands, settings, keys and links that a page names, and checks that they exist."""

import contextlib
import io
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

from agent.settings import AgentSettings
from cli.arguments import parse
from extender.settings.extender import ExtenderSettings
from shared import foreign_labels, labels
from tests.docs import blocks

_CODE = re.compile(r"`([^`\n]+)`")
_KEY = re.compile(r"\bshuntyard\.io/[A-Za-z][A-Za-z-]*")
_SETTING = re.compile(r"`([a-z_]+)\.([a-z_]+)(?:: [^`]*)?`")
_ELSEWHERE = {"shuntyard.io/docs"}  # an address, no key


def commands(text: str) -> Iterator[list[str]]:
    """Yield every call of ``shuntyard`` in code: fenced, or between backquotes."""
    prose = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    lines = [line for b in blocks.blocks(text) if _is_typed(b) for line in b.text.splitlines()]
    for line in [*lines, *_CODE.findall(prose)]:
        called = line.partition(" # ")[0].strip().removeprefix("kubectl ").split("|")[0]
        if re.match(r"shuntyard [a-z]", called):
            yield shlex.split(called)[1:]


def _is_typed(block: blocks.Block) -> bool:
    return block.language in {*blocks.SHELLS, ""}


def check_commands(text: str) -> int:
    """Check that all calls parse; return how many there are."""
    count = 0
    for words in commands(text):
        if words == ["explain"]:  # the command as such, in prose
            words = [*words, "NAME"]  # noqa: PLW2901 - what it stands for
        if words == ["logs-check"]:
            words = [*words, "FILE"]  # noqa: PLW2901 - likewise
        if words == ["what-if"]:
            words = [*words, "-f", "job.yaml"]  # noqa: PLW2901 - likewise
        with contextlib.redirect_stderr(io.StringIO()) as errors:
            try:
                parse(words)
            except SystemExit:
                raise AssertionError(
                    f"shuntyard {shlex.join(words)}: {errors.getvalue()}"
                ) from None
        count += 1
    return count


def odd_settings(text: str) -> list[str]:
    """Return words like a setting, ``section.key``, that are none of either program."""
    models = (ExtenderSettings, AgentSettings)
    found = {}
    for model in models:
        for name, info in model.model_fields.items():
            found.setdefault(name, set()).update(type(info.get_default()).model_fields)
    named = [match.groups() for match in _SETTING.finditer(text)]
    return [f"{a}.{b}" for a, b in named if a in found and b not in found[a]]


def settings_named(text: str) -> int:
    """Return how many settings of the extender are named."""
    names = ExtenderSettings.model_fields
    return sum(match[1] in names for match in _SETTING.finditer(text))


def odd_keys(text: str) -> set[str]:
    """Return keys of our domain that are no label, annotation, gate or condition of ours."""
    ours = {v for v in vars(labels).values() if isinstance(v, str)}
    return set(_KEY.findall(text)) - ours - _ELSEWHERE


def foreign_keys() -> set[str]:
    """Return the keys of other projects that we read."""
    found: set[str] = set()
    for module in (foreign_labels, labels):
        for name, value in vars(module).items():
            if name.isupper() and isinstance(value, str | tuple):
                found |= {value} if isinstance(value, str) else set(value)
    return found


def linked(page: Path) -> set[Path]:
    """Return the pages that a page links to."""
    targets = re.findall(r"\]\((?!https?:|mailto:)([^)\s#]+)", page.read_text())
    return {(page.parent / target).resolve() for target in targets}
