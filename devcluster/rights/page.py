"""The rights as a documentation page: the rules of deploy/, each with the comment above it."""

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
        namespace: Empty: all.
        comment: The comment above it.
        rules: Its rules, each with the comment above it.
    """

    name: str
    namespace: str
    comment: str
    rules: tuple[tuple[Mapping[str, Any], str], ...]


def roles(directory: Path) -> Iterator[Role]:
    """Yield the roles of a directory's files, in the order of files and lines."""
    for file in sorted(directory.glob("*.yaml")):
        above = ""
        for text in file.read_text().split(_SEPARATOR):
            comment = _head(text) or above
            manifest = yaml.safe_load(text)
            if manifest and manifest.get("kind") in _ROLES:
                yield _role(text, manifest, comment)
            above = _head(text) if text.lstrip().startswith("#") else above


def _role(text: str, manifest: Mapping[str, Any], comment: str) -> Role:
    metadata = manifest["metadata"]
    rules = zip(manifest["rules"], _reasons(text), strict=True)
    return Role(metadata["name"], metadata.get("namespace", ""), comment, tuple(rules))


def _head(text: str) -> str:
    """Return the comment at the start of a document."""
    lines = []
    for line in text.lstrip("\n").splitlines():
        if not line.startswith("#"):
            break
        lines.append(line.removeprefix("#").strip().removesuffix("\\"))
    return " ".join(lines)


def _reasons(text: str) -> Iterator[str]:
    """Yield the comment above each rule."""
    comment: list[str] = []
    for line in text.splitlines():
        stripped = line.strip()
        if stripped.startswith("#"):
            comment.append(stripped.removeprefix("#").strip())
            continue
        if stripped.startswith(_RULE):
            yield " ".join(comment)
        comment = []


def lines(directory: Path) -> Iterator[str]:
    """Yield a section for each role."""
    for role in roles(directory):
        where = f"in `{role.namespace}`" if role.namespace else "in all namespaces"
        yield from ("", f"### `{role.name}`, {where}", "", role.comment, "")
        explained = any(comment for _, comment in role.rules)
        yield _row("What", "Verbs", *(["Used by"] if explained else []))
        yield _row("---", "---", *(["---"] if explained else []))
        for rule, comment in role.rules:
            yield _row(
                _what(rule), ", ".join(rule["verbs"]), *([comment or " "] if explained else [])
            )


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _what(rule: Mapping[str, Any]) -> str:
    group = rule["apiGroups"][0]
    resources = (f"`{one}.{group}`" if group else f"`{one}`" for one in rule["resources"])
    names = " or ".join(f"`{name}`" for name in rule.get("resourceNames") or ())
    return ", ".join(resources) + (f" named {names}" if names else "")
