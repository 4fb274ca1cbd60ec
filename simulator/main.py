"""``shuntyard-sim``: the papers, the traces and the live decisions, by the extender's own core."""

import argparse
import sys
from collections.abc import Sequence

from simulator import compare, page, replay, reproduce

_ABOUT = (
    "Tries policies on traces and generated workloads, makes the papers' figures again, and "
    "decides what the live extender decided once more: all by the extender's own core."
)
COMMANDS = {"reproduce": reproduce, "compare": compare, "page": page, "replay": replay}


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
