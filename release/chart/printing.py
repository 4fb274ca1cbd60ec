"""Trees as the text of Helm templates."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import yaml

from release.chart.conditions import Switches, Variants
from release.chart.merging import Case, Cases, Fields, Form, Items, Slot
from release.errors import ReleaseError

_STEP: Final = 2
_ACTION: Final = re.compile(r"\{\{.*?\}\}|\{\{")
_LIKE_A_NUMBER: Final = re.compile(r"[-+.]?\d[\d_.:xoa-fA-F+-]*")
"""YAML 1.1 and 1.2 read such words as numbers, PyYAML only some of them."""
_FIRST: Final = ("apiVersion", "kind", "metadata", "name", "namespace", "labels")
"""Fields that a reader expects before the others, in this order."""


def escaped(text: str) -> str:
    """Return a text that Helm prints as it is: actions of other template languages are quoted."""
    return _ACTION.sub(lambda found: "{{ `" + found[0] + "` }}", text)


@dataclass(frozen=True)
class Printer:
    """Prints a tree.

    Attributes:
        switches: What the cases of the tree depend on.
    """

    switches: Switches

    def lines(self, node: Any, indent: int, within: Variants) -> Iterator[str]:
        """Yield the lines of a mapping or a list.

        Args:
            node: A part of a tree.
            indent: Blanks before each line.
            within: The variants that are possible here.

        Raises:
            ReleaseError: A list's item begins with a field that not all variants have.
        """
        if isinstance(node, Fields):
            for name in sorted(node.entries, key=_rank):
                yield from self._cases(name, node.entries[name], indent, within)
        elif isinstance(node, Items):
            for cases in node.entries:
                yield from self._cases(None, cases, indent, within)
        elif isinstance(node, Mapping):
            for name in sorted(node, key=_rank):
                yield from self._entry(name, node[name], indent, within)
        else:
            for value in node:
                yield from self._item(value, indent, within)

    def _cases(
        self, name: str | None, cases: Cases, indent: int, within: Variants
    ) -> Iterator[str]:
        blank = " " * indent
        first, *others = sorted(cases.found, key=lambda case: self._length(case.variants, within))
        condition = self.switches.condition(first.variants, within)
        if condition:
            yield f"{blank}{{{{- if {condition} }}}}"
        yield from self._case(name, first, indent)
        for case in others:
            is_rest = case.variants | first.variants == within
            word = "" if is_rest else f" if {self.switches.condition(case.variants, within)}"
            yield f"{blank}{{{{- else{word} }}}}"
            yield from self._case(name, case, indent)
        if condition:
            yield f"{blank}{{{{- end }}}}"

    def _length(self, variants: Variants, within: Variants) -> int:
        return len(self.switches.condition(variants, within))

    def _case(self, name: str | None, case: Case, indent: int) -> Iterator[str]:
        if name is None:
            yield from self._item(case.node, indent, case.variants)
        else:
            yield from self._entry(name, case.node, indent, case.variants)

    def _entry(self, name: str, node: Any, indent: int, within: Variants) -> Iterator[str]:
        blank = " " * indent
        label = f"{blank}{_scalar(name)}:"
        if isinstance(node, Slot):
            yield from _filled(label, node, indent)
        elif isinstance(node, str) and "\n" in node:
            yield f"{label} |" if node.endswith("\n") else f"{label} |-"
            yield from (f"{blank}  {escaped(line)}".rstrip() for line in node.splitlines())
        elif isinstance(node, Fields | Items | Mapping | list | tuple) and node:
            yield label
            # kustomize puts items at the indentation of their key
            deeper = 0 if isinstance(node, Items | list | tuple) else _STEP
            yield from self.lines(node, indent + deeper, within)
        else:
            yield f"{label} {_scalar(node)}"

    def _item(self, node: Any, indent: int, within: Variants) -> Iterator[str]:
        blank = " " * indent
        if isinstance(node, Slot):
            yield f"{blank}- {node.text}"
            return
        if not isinstance(node, Fields | Items | Mapping | list):
            yield f"{blank}- {_scalar(node)}"
            return
        first, *others = self.lines(node, indent + _STEP, within)
        if first.lstrip().startswith("{{"):
            raise ReleaseError(f"an item of a list begins with a condition: {first.strip()}")
        yield f"{blank}- {first.lstrip()}"
        yield from others


def _rank(name: str) -> int:
    return _FIRST.index(name) if name in _FIRST else len(_FIRST)


def _filled(label: str, slot: Slot, indent: int) -> Iterator[str]:
    blank, deeper = " " * indent, indent + _STEP
    if slot.form is Form.INLINE:
        yield f"{label} {slot.text}"
    elif slot.form is Form.BLOCK:
        yield f"{label} {{{{- toYaml {slot.text} | nindent {deeper} }}}}"
    elif slot.form is Form.LITERAL:
        yield f"{label} |"
        yield f"{blank}  {{{{- {slot.text} | nindent {deeper} }}}}"
    else:
        yield f"{blank}{{{{- with {slot.text} }}}}"
        if slot.form is Form.OPTIONAL:
            yield f"{label} {{{{- toYaml . | nindent {deeper} }}}}"
        else:
            yield f"{blank}{{{{- toYaml . | nindent {indent} }}}}"
        yield f"{blank}{{{{- end }}}}"


def _scalar(value: Any) -> str:
    if isinstance(value, str) and _LIKE_A_NUMBER.fullmatch(value):
        return escaped(json.dumps(value, ensure_ascii=False))
    text = yaml.safe_dump(value, default_flow_style=True, allow_unicode=True, width=1_000_000)
    return escaped(text.removesuffix("...\n").strip())
