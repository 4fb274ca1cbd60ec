"""promtool, for tests that ask it; where it is not here they are skipped and say so."""

import subprocess
from pathlib import Path

import pytest

from monitoring import programs

TOOL = programs.find("promtool")
needs_promtool = pytest.mark.skipif(
    TOOL is None, reason=f"promtool is not here; `{programs.COMMAND}` gets it from Debian"
)


def promtool(*words: str | Path, given: bytes = b"") -> str:
    """Return all it says; it must be content."""
    assert TOOL is not None
    done = subprocess.run([TOOL, *words], input=given, capture_output=True, check=False)
    said = (done.stdout + done.stderr).decode()
    assert done.returncode == 0, said
    return said
