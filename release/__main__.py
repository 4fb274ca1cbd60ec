"""``python -m release``: the steps of a release that a program can do.

The workflows in ``.github/workflows`` run them; each can be run by hand.
"""

import argparse
import json
import os
import sys
from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from release import audit, distributions, images, locks, site, standalone, versions
from release.chart import files
from release.errors import ReleaseError

_OURS: Final = "PROGRAM=NAME@sha256:…"
_Options = Mapping[str, Mapping[str, Any]]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one step; 0 if it went well, 1 if it forbids the release."""
    parser = argparse.ArgumentParser(prog="python -m release", description=__doc__)
    steps = parser.add_subparsers(dest="step", required=True, metavar="STEP")
    for name, step in STEPS.items():
        command = steps.add_parser(name, help=step.meaning, description=step.meaning)
        for option, settings in step.options.items():
            command.add_argument(option, **settings)
    options = parser.parse_args(arguments)
    try:
        return STEPS[options.step].run(options)
    except ReleaseError as error:
        sys.stderr.write(f"{error}\n")
        return 1


def _lock(options: Namespace) -> int:
    locks.write(upgrade=options.upgrade)
    return 0


def _audit(_options: Namespace) -> int:
    return 0 if audit.audit_all(print) else 1


def _version(options: Namespace) -> int:
    print(versions.of_tag(options.tag))
    return 0


def _notes(options: Namespace) -> int:
    changelog = (locks.ROOT / "CHANGELOG.md").read_text()
    print(versions.notes(options.version, changelog), end="")
    return 0


def _provenance(_options: Namespace) -> int:
    print(json.dumps(versions.provenance(os.environ), indent=2))
    return 0


def _distributions(options: Namespace) -> int:
    return _listed(
        [*distributions.build(options.directory), *distributions.bills(options.directory)]
    )


def _standalone(options: Namespace) -> int:
    return _listed([standalone.build(options.wheel, options.directory)])


def _krew(options: Namespace) -> int:
    version = versions.of_tag(options.tag)
    print(standalone.krew(version, options.repository, options.directory), end="")
    return 0


def _checksums(options: Namespace) -> int:
    if options.check:
        return _refused(distributions.check(options.directory))
    text = distributions.sums(options.directory)
    (options.directory / distributions.SUMS).write_text(text)
    return 0


def _digest(options: Namespace) -> int:
    print(images.by_digest(options.reference))
    return 0


def _manifests(options: Namespace) -> int:
    print(images.kustomization(_named(options.images), options.base), end="")
    return 0


def _lint(options: Namespace) -> int:
    return _refused(images.lint(options.directory, options.base_image))


def _chart(options: Namespace) -> int:
    changed = files.stale() if options.check else files.write()
    for name in changed:
        print(f"{'not current' if options.check else 'written'}: deploy/chart/{name}")
    return 1 if options.check and changed else 0


def _chart_of_release(options: Namespace) -> int:
    files.copy(options.directory, _named(options.images))
    return 0


def _site(options: Namespace) -> int:
    print(options.published / site.add(options.built, options.published, options.version))
    return 0


def _named(stated: Sequence[str]) -> Mapping[str, str]:
    return dict(one.split("=", 1) for one in stated if "=" in one)


def _listed(made: Sequence[Path]) -> int:
    for file in made:
        print(file)
    return 0


def _refused(problems: Sequence[str]) -> int:
    for problem in problems:
        sys.stderr.write(f"{problem}\n")
    return 1 if problems else 0


class Step(NamedTuple):
    """A step: what it does, in words and as a function, and its options."""

    meaning: str
    run: Callable[[Namespace], int]
    options: _Options = MappingProxyType({})


_DIRECTORY: Final[_Options] = {"directory": {"type": Path}}
_CHECK: Final[_Options] = {"--check": {"action": "store_true", "help": "change nothing, only look"}}
_IMAGES: Final[_Options] = {"images": {"nargs": "+", "metavar": _OURS}}
STEPS: Final[Mapping[str, Step]] = {
    "lock": Step(
        "resolve requirements/ again",
        _lock,
        {"--upgrade": {"action": "store_true", "help": "take the newest allowed versions"}},
    ),
    "audit": Step("known vulnerabilities of the locked versions", _audit),
    "version": Step("check a tag and print its version", _version, {"tag": {}}),
    "notes": Step("print what the changelog says about a version", _notes, {"version": {}}),
    "distributions": Step("wheels, sources, bills of materials", _distributions, _DIRECTORY),
    "standalone": Step(
        "the command line with a Python, for this machine's system and processor",
        _standalone,
        {"wheel": {"type": Path}, **_DIRECTORY},
    ),
    "krew": Step(
        "print the krew manifest of a release's archives",
        _krew,
        {"tag": {}, "--repository": {"required": True, "help": "URL"}, **_DIRECTORY},
    ),
    "checksums": Step(
        "write SHA256SUMS of a release's files", _checksums, {**_CHECK, **_DIRECTORY}
    ),
    "provenance": Step("print from what and by which run this is built", _provenance),
    "digest": Step(
        "print an image's reference by digest, from its registry", _digest, {"reference": {}}
    ),
    "manifests": Step(
        "print the release's kustomization, images by digest",
        _manifests,
        {"--base": {"required": True, "help": "reference of the manifests"}, **_IMAGES},
    ),
    "lint": Step(
        "refuse a release that names an image by tag",
        _lint,
        {
            "--base-image": {"required": True, "help": "what the Dockerfiles were built on"},
            **_DIRECTORY,
        },
    ),
    "chart": Step("write deploy/chart from the kustomizations", _chart, _CHECK),
    "chart-of-release": Step(
        "write a chart whose images are named by digest",
        _chart_of_release,
        {**_DIRECTORY, **_IMAGES},
    ),
    "site": Step(
        "put the site of `make docs` beside those of other versions",
        _site,
        {"version": {}, "built": {"type": Path}, "published": {"type": Path}},
    ),
}


if __name__ == "__main__":
    sys.exit(main())
