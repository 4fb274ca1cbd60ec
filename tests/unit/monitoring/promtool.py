"""promtool for tests; where it is missing, they are skipped with a reason."""

import subprocess
from pathlib import Path

import pytest

from monitoring import programs

TOOL = programs.find("promtool")
needs_promtool = pytest.mark.skipif(
    TOOL is None, reason=f"promtool is not here; `{programs.COMMAND}` gets it from Debian"
)


def promtool(*words: str | Path, given: bytes = b"") -> str:
    """Return its output; it must succeed."""
    assert TOOL is not None
    done = subprocess.run([TOOL, *words], input=given, capture_output=True, check=False)
    output = (done.stdout + done.stderr).decode()
    assert done.returncode == 0, output
    return output
