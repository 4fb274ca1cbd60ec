"""``$(NAME)`` in commands, arguments and values (pure).

Source:
    k8s.io/kubernetes/third_party/forked/golang/expansion: ``$$`` is a literal ``$``, an unknown
    name stays as it is written.
"""

import re
from collections.abc import Mapping
from typing import Final

_REFERENCE: Final = re.compile(r"\$(\$|\([^)]*\))")


def expand(text: str, values: Mapping[str, str]) -> str:
    """Return ``text`` with each ``$(NAME)`` replaced by its value."""

    def replace(match: re.Match[str]) -> str:
        inner = match.group(1)
        return "$" if inner == "$" else values.get(inner[1:-1], match.group(0))

    return _REFERENCE.sub(replace, text)
