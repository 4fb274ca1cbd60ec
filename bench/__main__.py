"""``python -m bench NAME``: makes one of our numbers."""

import argparse
import sys

from bench import gang


def main() -> int:
    """Run one benchmark."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    commands = parser.add_subparsers(required=True)
    command = commands.add_parser("gang", help=gang.__doc__)
    gang.add_arguments(command)
    command.set_defaults(run=gang.run)
    options = parser.parse_args()
    code: int = options.run(options)
    return code


if __name__ == "__main__":
    sys.exit(main())
