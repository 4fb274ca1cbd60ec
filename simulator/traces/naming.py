"""Names of traces as Kubernetes takes them."""

import re


def named(text: str) -> str:
    """Return a name in lower-case letters, digits and hyphens."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "x"
