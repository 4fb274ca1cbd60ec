"""Queries that find nothing in the run of the demo, and why; every other must find something."""

from collections.abc import Mapping
from typing import Final

QUIET: Final[Mapping[tuple[str, str], str]] = {
    ("prices", "What admitted jobs keep"): "no job of the demo has a utility",
    ("prices", "Jobs with a utility"): "no job of the demo has a utility",
}
"""Dashboard and panel → why one of its queries may be empty."""
