"""Label and field selectors, as far as the tests need them."""

import re
from collections.abc import Callable, Mapping
from typing import Any

Object = dict[str, Any]
Selector = Callable[[Object], bool]

_SET = re.compile(r"^(\S+)\s+(in|notin)\s+\(([^)]*)\)$")


def selector(params: Mapping[str, str]) -> Selector:
    """Return the filter that ``labelSelector`` and ``fieldSelector`` ask for."""
    labels = [_label_term(t) for t in _terms(params.get("labelSelector", ""))]
    fields = [_field_term(t) for t in _terms(params.get("fieldSelector", ""))]
    return lambda found: all(term(found) for term in labels + fields)


def field(found: Object, path: str) -> str:
    value: Any = found
    for part in path.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return "" if value is None else str(value)


def _terms(text: str) -> list[str]:
    return [term.strip() for term in re.split(r",(?![^(]*\))", text) if term.strip()]


def _field_term(term: str) -> Selector:
    path, operator, value = re.split(r"(!=|==|=)", term, maxsplit=1)
    return lambda found: (field(found, path) == value) != (operator == "!=")


def _label_term(term: str) -> Selector:
    if match := _SET.match(term):
        key, operator, values = match.groups()
        allowed = {value.strip() for value in values.split(",")}
        return lambda found: (_label(found, key) in allowed) == (operator == "in")
    if "=" not in term:
        absent = term.startswith("!")
        return lambda found: (_label(found, term.lstrip("!")) is None) == absent
    key, operator, value = re.split(r"(!=|==|=)", term, maxsplit=1)
    return lambda found: (_label(found, key) == value) != (operator == "!=")


def _label(found: Object, key: str) -> str | None:
    labels: dict[str, str] = found["metadata"].get("labels") or {}
    return labels.get(key)
