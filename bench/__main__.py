"""``python -m bench NAME``: makes one of our numbers."""

import argparse
import sys

from bench import agent, gang, heartbeats, sampling, specon, weights


def main() -> int:
    """Run one benchmark."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    commands = parser.add_subparsers(required=True)
    command = commands.add_parser("gang", help=gang.__doc__)
    gang.add_arguments(command)
    command.set_defaults(run=gang.run)
    command = commands.add_parser("sampling", help=sampling.__doc__)
    sampling.add_arguments(command)
    command.set_defaults(run=sampling.run)
    command = commands.add_parser("heartbeats", help=heartbeats.__doc__)
    heartbeats.add_arguments(command)
    command.set_defaults(run=heartbeats.run)
    command = commands.add_parser("agent", help=agent.__doc__)
    agent.add_arguments(command)
    command.set_defaults(run=agent.run)
    command = commands.add_parser("specon", help=specon.__doc__)
    specon.add_arguments(command)
    command.set_defaults(run=specon.run)
    command = commands.add_parser("weights", help=weights.__doc__)
    weights.add_arguments(command)
    command.set_defaults(run=weights.run)
    options = parser.parse_args()
    code: int = options.run(options)
    return code


if __name__ == "__main__":
    sys.exit(main())
