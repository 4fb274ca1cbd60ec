"""The agent's program: one process checks the settings, then makes room for the one that runs.

Pydantic and YAML, which check them, would keep 10 MiB in the memory of every node for good. So the
process that has checked them runs the same command line again (``exec``: it keeps its id), with the
checked values in its environment.
"""

import os
from collections.abc import Sequence
from typing import Final

CHECKED_VARIABLE: Final = "SHUNTYARD_AGENT_CHECKED"
"""Has the checked settings as JSON; they name files and addresses, and hold no secret."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the agent until SIGTERM or SIGINT; return the exit code: 2 for wrong settings.

    Args:
        arguments: None: those of the command line, which is run again; else this process runs on.
    """
    checked = "" if arguments is not None else os.environ.pop(CHECKED_VARIABLE, "")
    if checked:
        from agent import running  # noqa: PLC0415 - only this process needs it

        return running.run(checked)
    from agent import starting  # noqa: PLC0415 - what it loads would stay in memory

    return starting.start(arguments, CHECKED_VARIABLE)
