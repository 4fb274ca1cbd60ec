"""``shuntyard-contract-test COMMAND``: does a trainer, in any language, keep the contract?

It runs the command several times in an empty checkpoint directory, plays the agent, and prints a
line for each check. Exit codes: 0: every check that a trainer must pass; 1: not; 2: wrong usage.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from shuntyard_trainer import contract_schema
from shuntyard_trainer.contract_checks import CHECKS, completes
from shuntyard_trainer.contract_run import Check, NotTestedError, Run
from shuntyard_trainer.contract_trainer import ContractError

_WIDTH = 26


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the test; return the exit code."""
    options = _parser().parse_args(arguments)
    if options.schema:
        print(contract_schema.PATH.read_text(encoding="utf-8"), end="")  # noqa: T201 - the answer
        return 0
    command = options.command[1:] if options.command[:1] == ["--"] else options.command
    if not command:
        _parser().error("name the command that starts the trainer")
    with tempfile.TemporaryDirectory(prefix="contract-test-") as place:
        directory = Path(place) / "checkpoints"
        directory.mkdir()
        run = Run(
            command=command,
            directory=directory,
            seconds=options.seconds,
            quiet_seconds=options.quiet_seconds,
            end_seconds=options.to_end or 0.0,
            ranks=options.ranks,
        )
        try:
            return _all(run)
        except FileNotFoundError as error:
            if error.filename != command[0]:
                raise
            print(f"{command[0]}: there is no such program", file=sys.stderr)  # noqa: T201
            return 2
        finally:
            for life in run.lives:
                life.close()


def _all(run: Run) -> int:
    """Make all checks up to the first that a trainer must pass and does not."""
    names: list[str] = []
    for check in CHECKS:
        name = check.check.__name__.replace("_", "-")
        if check.check is completes and not run.end_seconds:
            _line("not tested", name, f"{check.rules}: give --to-end SECONDS")
            continue
        try:
            reason = _reason(check, run)
        except NotTestedError as error:
            _line("not tested", name, f"{check.rules}: {error}")
            continue
        if not reason:
            _line("ok", name, check.rules)
        elif not check.must:
            _line("should", name, f"{check.rules}: {reason}")
        else:
            _line("FAILED", name, f"{check.rules}: {reason}")
            _output(run)
            return 1
        names.append(name)
    print(f"the trainer keeps the contract, version 1 ({len(names)} checks)")  # noqa: T201
    return 0


def _reason(check: Check, run: Run) -> str:
    """Make a check; return what is wrong, empty if nothing is."""
    try:
        check.check(run)
    except ContractError as error:
        return str(error)
    torn = [text for life in run.lives for text in life.torn]
    return "; ".join(torn[:3])


def _line(result: str, name: str, text: str) -> None:
    print(f"{result:10} {name:{_WIDTH}} {text}", flush=True)  # noqa: T201 - the answer


def _output(run: Run) -> None:
    output = run.life.last_output() if run.lives else ""
    if output:
        print(f"the end of its output:\n{output}")  # noqa: T201 - the answer


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="shuntyard-contract-test",
        description="Test whether a training program keeps the checkpoint contract. It must train "
        "for a minute or more, and must have no checkpoints elsewhere.",
    )
    parser.add_argument(
        "--seconds",
        type=_positive,
        default=60.0,
        help="how long its start, a save or its end may take (default 60)",
    )
    parser.add_argument(
        "--quiet-seconds",
        type=_positive,
        default=3.0,
        help="how long to wait for what must not happen; longer than a step (default 3)",
    )
    parser.add_argument(
        "--to-end",
        type=_positive,
        metavar="SECONDS",
        help="test the end of training too: it comes within this time",
    )
    parser.add_argument(
        "--ranks",
        type=int,
        choices=range(1, 65),
        default=1,
        metavar="N",
        help="start N processes each time, with RANK, LOCAL_RANK, WORLD_SIZE, MASTER_ADDR and "
        "MASTER_PORT (default 1)",
    )
    parser.add_argument("--schema", action="store_true", help="print the JSON schema and end")
    parser.add_argument("command", nargs=argparse.REMAINDER, help="command that starts the trainer")
    return parser


def _positive(text: str) -> float:
    seconds = float(text)
    if not 0 < seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"expected a number of seconds above 0, found {text}")
    return seconds


if __name__ == "__main__":
    sys.exit(main())
