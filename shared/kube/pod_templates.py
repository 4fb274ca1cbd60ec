"""What the pod templates of owners state under the keys that count on owners alone.

Nothing else of a template is kept: an owner may have thousands, and other keys are read from the
pods that are made of them.
"""

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec
from msgspec import Raw, Struct

from shared import labels

MOST_CHARACTERS: Final = 4096
"""Of a value: a longer one is cut, and the mark at its end makes it unreadable for every grammar of
ours. The longest that can be used, a utility of many steps, is shorter."""

_CUT: Final = "…"
_TEXT: Final = msgspec.json.Decoder(str)


class Noted(Struct):
    """``metadata`` of a template: its annotations alone, of any type until one is looked at."""

    annotations: dict[str, Raw] | None = None


class Template(Struct):
    """A pod template, or anything else with ``metadata``."""

    metadata: Noted | None = None


Templates = Iterable[Template | None]
"""Of one owner, the most important first."""


def stated(templates: Iterable[Template | None]) -> Mapping[str, str]:
    """Return what templates state under ``labels.OF_OWNER``; the first that states a key wins."""
    found: dict[str, str] = {}
    for template in templates:
        noted = template.metadata if template is not None else None
        for key in labels.OF_OWNER.intersection((noted.annotations if noted else None) or ()):
            text = _text(noted.annotations[key]) if noted and noted.annotations else None
            if text is not None:
                found.setdefault(key, text)
    return found


def _text(raw: Raw) -> str | None:
    """Return a value; None if it is no text, of which no pod could be made."""
    try:
        text = _TEXT.decode(raw)
    except msgspec.DecodeError:
        return None
    return text if len(text) <= MOST_CHARACTERS else text[:MOST_CHARACTERS] + _CUT
