"""The command ``shuntyard-sim``: experiments, comparisons and replay with the extender's core."""

import argparse
import sys
from collections.abc import Sequence

from simulator import compare, page, replay, reproduce, starts

_ABOUT = (
    "Compares policies on traces and generated workloads, reproduces the papers' figures, and "
    "replays the decisions of a live extender, all with the extender's own core."
)
COMMANDS = {
    "reproduce": reproduce,
    "compare": compare,
    "starts": starts,
    "page": page,
    "replay": replay,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return the exit code."""
    parser = argparse.ArgumentParser(prog="shuntyard-sim", description=_ABOUT)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, module in COMMANDS.items():
        text = (module.__doc__ or "").partition("\n\n")[0].partition(": ")[2].strip()
        command = commands.add_parser(name, help=text, description=text)
        module.add_arguments(command)
        command.set_defaults(run=module.run)
    options = parser.parse_args(arguments)
    code: int = options.run(options)
    return code


if __name__ == "__main__":
    sys.exit(main())
