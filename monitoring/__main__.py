"""``python -m monitoring generate [--check] | programs``."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from monitoring import manifests, programs
from monitoring.errors import MonitoringError
from monitoring.rules.printing import RUNBOOKS

ROOT: Final = Path(__file__).resolve().parent.parent


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what is asked; return the exit code."""
    options = _options(arguments)
    try:
        if options.command == "programs":
            programs.get(print)
            return 0
        return generate(options.root, options.runbooks, check=options.check)
    except MonitoringError as error:
        print(f"monitoring: {error}", file=sys.stderr)
        return 1


def generate(root: Path, runbooks: str = RUNBOOKS, *, check: bool = False) -> int:
    """Write the generated files below ``root``, or check them; return 1 if one is out of date."""
    wanted = manifests.files(runbooks)
    there = {
        str(path.relative_to(root)): path.read_text()
        for path in (root / manifests.FOLDER).rglob("*")
        if path.is_file()
    }
    stale = sorted(name for name in wanted | there if wanted.get(name) != there.get(name))
    if check and stale:
        print(f"not current: {', '.join(stale)}; run python -m monitoring generate")
        return 1
    for name in stale:
        if name in wanted:
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(wanted[name])
        else:
            (root / name).unlink()
    return 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m monitoring", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("programs", help="make sure that prometheus and promtool are here")
    made = commands.add_parser("generate", help=f"write the files of {manifests.FOLDER}")
    made.add_argument("--check", action="store_true", help="only say whether they are current")
    made.add_argument("--runbooks", default=RUNBOOKS, help="where the runbooks are served")
    made.add_argument("--root", type=Path, default=ROOT, help="where deploy/ lies")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
