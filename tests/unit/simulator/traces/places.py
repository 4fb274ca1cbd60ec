"""Paths of traces: small ones of ours in the tree, public ones by an environment variable."""

import os
from pathlib import Path

import pytest

FIXTURES = Path(__file__).resolve().parents[3] / "fixtures" / "traces"


def public(name: str) -> Path:
    """A public trace below ``SHUNTYARD_TRACES``; skips without it, with the reason."""
    folder = os.environ.get("SHUNTYARD_TRACES")
    if not folder:
        pytest.skip("set SHUNTYARD_TRACES to the folder with the public traces (docs/traces.md)")
    return Path(folder) / name
