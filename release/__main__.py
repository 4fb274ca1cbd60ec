"""``python -m release``: the steps of a release that a program can do.

lock        resolve ``requirements/`` again
audit       known vulnerabilities of what is locked
digest      an image's reference by digest, as its registry gives it now
manifests   the release's kustomization, images by digest
lint        refuse a release that names an image by tag
chart       write the Helm chart from the kustomizations
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from release import audit, images, locks
from release.chart import files
from release.errors import ReleaseError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one step; 0 if it went well, 1 if it forbids the release."""
    parser = argparse.ArgumentParser(prog="python -m release")
    steps = parser.add_subparsers(dest="step", required=True)
    lock = steps.add_parser("lock", help="resolve requirements/ again")
    lock.add_argument("--upgrade", action="store_true", help="take the newest allowed versions")
    steps.add_parser("audit", help="known vulnerabilities of the locked versions")
    digest = steps.add_parser("digest", help="print an image's reference by digest")
    digest.add_argument("reference")
    manifests = steps.add_parser("manifests", help="print a kustomization with digests")
    manifests.add_argument("--base", required=True, help="reference of the manifests")
    manifests.add_argument("images", nargs="+", metavar="PROGRAM=NAME@sha256:…")
    lint = steps.add_parser("lint", help="refuse a release that names an image by tag")
    lint.add_argument("--base-image", required=True, help="what the Dockerfiles were built on")
    lint.add_argument("directory", type=Path)
    chart = steps.add_parser("chart", help="write deploy/chart from the kustomizations")
    chart.add_argument("--check", action="store_true", help="only check whether it is current")
    try:
        return _step(parser.parse_args(arguments))
    except ReleaseError as error:
        sys.stderr.write(f"{error}\n")
        return 1


def _step(options: argparse.Namespace) -> int:
    if options.step == "lock":
        locks.write(upgrade=options.upgrade)
    elif options.step == "audit":
        return 0 if audit.audit_all(print) else 1
    elif options.step == "digest":
        print(images.by_digest(options.reference))
    elif options.step == "manifests":
        stated = dict(one.split("=", 1) for one in options.images if "=" in one)
        print(images.kustomization(stated, options.base), end="")
    elif options.step == "chart":
        return _chart(check=options.check)
    else:
        problems = images.lint(options.directory, options.base_image)
        for problem in problems:
            sys.stderr.write(f"{problem}\n")
        return 1 if problems else 0
    return 0


def _chart(*, check: bool) -> int:
    changed = files.stale() if check else files.write()
    for name in changed:
        print(f"{'not current' if check else 'written'}: deploy/chart/{name}")
    return 1 if check and changed else 0


if __name__ == "__main__":
    sys.exit(main())
