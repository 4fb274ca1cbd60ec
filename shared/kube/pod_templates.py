"""Annotations of owners' pod templates, for the keys that count on owners only.

Nothing else of a template is kept: there may be thousands of owners, and other keys are read from
the pods.
"""

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec
from msgspec import Raw, Struct

from shared import labels

MOST_CHARACTERS: Final = 4096
"""Characters of a value: a longer one is cut, and the mark at its end makes it invalid in all our
grammars. The longest valid one, a utility of many steps, is shorter."""

_CUT: Final = "…"
_TEXT: Final = msgspec.json.Decoder(str)


class Noted(Struct):
    """``metadata`` of a template: only annotations, decoded when needed."""

    annotations: dict[str, Raw] | None = None


class Template(Struct):
    """A pod template, or anything else with ``metadata``."""

    metadata: Noted | None = None


Templates = Iterable[Template | None]
"""Of one owner, the most important first."""


def stated(templates: Iterable[Template | None]) -> Mapping[str, str]:
    """Return the annotations of templates in ``labels.OF_OWNER``; the first template wins."""
    annotations: dict[str, str] = {}
    for template in templates:
        noted = template.metadata if template is not None else None
        for key in labels.OF_OWNER.intersection((noted.annotations if noted else None) or ()):
            text = _text(noted.annotations[key]) if noted and noted.annotations else None
            if text is not None:
                annotations.setdefault(key, text)
    return annotations


def _text(raw: Raw) -> str | None:
    """Return a value; None if it is not a text, as no pod could be made from it."""
    try:
        text = _TEXT.decode(raw)
    except msgspec.DecodeError:
        return None
    return text if len(text) <= MOST_CHARACTERS else text[:MOST_CHARACTERS] + _CUT
