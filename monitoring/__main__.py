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
    """Run the command; return the exit code."""
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
    files = manifests.files(runbooks)
    existing = {
        str(path.relative_to(root)): path.read_text()
        for path in (root / manifests.FOLDER).rglob("*")
        if path.is_file()
    }
    stale = sorted(name for name in files | existing if files.get(name) != existing.get(name))
    if check and stale:
        print(f"not up to date: {', '.join(stale)}; run python -m monitoring generate")
        return 1
    for name in stale:
        if name in files:
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(files[name])
        else:
            (root / name).unlink()
    return 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m monitoring", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("programs", help="get prometheus and promtool unless they are installed")
    generated = commands.add_parser("generate", help=f"write the files of {manifests.FOLDER}")
    generated.add_argument(
        "--check", action="store_true", help="only check whether they are up to date"
    )
    generated.add_argument("--runbooks", default=RUNBOOKS, help="URL of the runbooks")
    generated.add_argument("--root", type=Path, default=ROOT, help="directory that holds deploy/")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
