"""The rights as a page for people: the rules of deploy/, each with the comment above it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

_SEPARATOR: Final = "\n---\n"
_RULE: Final = "- apiGroups:"
_ROLES: Final = frozenset({"Role", "ClusterRole"})


@dataclass(frozen=True)
class Role:
    """One role.

    Attributes:
        name: Its name.
        namespace: Where it counts; empty: everywhere.
        said: What is said above it.
        rules: Its rules, each with what is said above it.
    """

    name: str
    namespace: str
    said: str
    rules: tuple[tuple[Mapping[str, Any], str], ...]


def roles(directory: Path) -> Iterator[Role]:
    """Yield the roles of a directory's files, in the order of files and lines."""
    for file in sorted(directory.glob("*.yaml")):
        above = ""
        for text in file.read_text().split(_SEPARATOR):
            said = _head(text) or above
            found = yaml.safe_load(text)
            if found and found.get("kind") in _ROLES:
                yield _role(text, found, said)
            above = _head(text) if text.lstrip().startswith("#") else above


def _role(text: str, found: Mapping[str, Any], said: str) -> Role:
    metadata = found["metadata"]
    rules = zip(found["rules"], _reasons(text), strict=True)
    return Role(metadata["name"], metadata.get("namespace", ""), said, tuple(rules))


def _head(text: str) -> str:
    """Return the comment that a document begins with."""
    lines = []
    for line in text.lstrip("\n").splitlines():
        if not line.startswith("#"):
            break
        lines.append(line.removeprefix("#").strip().removesuffix("\\"))
    return " ".join(lines)


def _reasons(text: str) -> Iterator[str]:
    """Yield what is said above each rule."""
    said: list[str] = []
    for line in text.splitlines():
        stripped = line.strip()
        if stripped.startswith("#"):
            said.append(stripped.removeprefix("#").strip())
            continue
        if stripped.startswith(_RULE):
            yield " ".join(said)
        said = []


def lines(directory: Path) -> Iterator[str]:
    """Yield a section for each role."""
    for role in roles(directory):
        where = f"in `{role.namespace}`" if role.namespace else "in all namespaces"
        yield from ("", f"### `{role.name}`, {where}", "", role.said, "")
        explained = any(said for _, said in role.rules)
        yield _row("What", "Verbs", *(["Who uses it, and when"] if explained else []))
        yield _row("---", "---", *(["---"] if explained else []))
        for rule, said in role.rules:
            yield _row(_what(rule), ", ".join(rule["verbs"]), *([said or " "] if explained else []))


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _what(rule: Mapping[str, Any]) -> str:
    group = rule["apiGroups"][0]
    resources = (f"`{one}.{group}`" if group else f"`{one}`" for one in rule["resources"])
    names = " or ".join(f"`{name}`" for name in rule.get("resourceNames") or ())
    return ", ".join(resources) + (f" named {names}" if names else "")
