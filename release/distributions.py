"""What a release offers beside the images: wheels, sources, bills of materials, checksums."""

import hashlib
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from release import versions
from release.errors import ReleaseError
from release.images import ask
from release.locks import DIRECTORY, ROOT

SUMS: Final = "SHA256SUMS"
PROJECTS: Final = (".", "trainer")
"""Folders of the distributions, from the root."""
PARTS: Final = ("cli", "extender", "agent")
"""Locks of which a release has a bill of materials."""
_EPOCH: Final = "315532800"
"""1980, the oldest time that a wheel can hold: the same sources give the same wheel."""
_SIGNED: Final = ".sigstore.json"


def build(directory: Path, projects: Sequence[str] = PROJECTS) -> tuple[Path, ...]:
    """Build wheel and sources of the distributions; return the files.

    They are built in a copy of git's index, so nothing else that lies there gets into them.
    Each wheel is made from the sources' archive, so the archive is complete.

    Raises:
        ReleaseError: git is missing, or a build failed.
    """
    directory.mkdir(parents=True, exist_ok=True)
    before = set(directory.iterdir())
    with tempfile.TemporaryDirectory() as name:
        copy = Path(name)
        ask(("git", "-C", str(ROOT), "checkout-index", "--all", f"--prefix={copy}/"))
        for project in projects:
            command = (
                *(sys.executable, "-m", "uv", "build", "--quiet", "--no-build-isolation"),
                *("--python", sys.executable),
                *("--out-dir", str(directory.resolve()), str(copy / project)),
            )
            ask(command, {"SOURCE_DATE_EPOCH": _EPOCH})
    (directory / ".gitignore").unlink(missing_ok=True)  # uv writes one
    return tuple(sorted(set(directory.iterdir()) - before))


def bills(directory: Path, parts: Sequence[str] = PARTS) -> tuple[Path, ...]:
    """Write a bill of materials, CycloneDX, of each program's locked packages.

    Raises:
        ReleaseError: cyclonedx-py is missing, or refuses a lock.
    """
    directory.mkdir(parents=True, exist_ok=True)
    files = []
    for part in parts:
        file = directory / f"shuntyard-{part}-{versions.stated()}.cdx.json"
        command = (
            *(sys.executable, "-m", "cyclonedx_py", "requirements", "--output-reproducible"),
            *("--pyproject", str(ROOT / "pyproject.toml"), "--output-file", str(file)),
            str(DIRECTORY / f"{part}.txt"),
        )
        ask(command)
        files.append(file)
    return tuple(files)


def sums(directory: Path) -> str:
    """Return the SHA-256 of each file of a release, as ``sha256sum --check`` reads them.

    Raises:
        ReleaseError: The directory has no files.
    """
    lines = [f"{digest}  {name}\n" for name, digest in _digests(directory).items()]
    if not lines:
        raise ReleaseError(f"{directory} has no files of a release")
    return "".join(lines)


def check(directory: Path) -> tuple[str, ...]:
    """Return what is wrong with the files of a release; nothing if its checksums hold.

    Raises:
        ReleaseError: There are no checksums.
    """
    try:
        text = (directory / SUMS).read_text()
    except FileNotFoundError:
        raise ReleaseError(f"{directory} has no {SUMS}") from None
    wanted = {line[66:]: line[:64] for line in text.splitlines()}
    found = _digests(directory)
    return (
        *(f"{name} is missing" for name in sorted(wanted.keys() - found.keys())),
        *(f"{name} is in no line of {SUMS}" for name in sorted(found.keys() - wanted.keys())),
        *(
            f"{name} has another SHA-256 than {SUMS} says"
            for name in sorted(wanted.keys() & found.keys())
            if wanted[name] != found[name]
        ),
    )


def _digests(directory: Path) -> Mapping[str, str]:
    files = sorted(one for one in directory.iterdir() if one.is_file())
    return {
        file.name: hashlib.sha256(file.read_bytes()).hexdigest()
        for file in files
        if file.name != SUMS and not file.name.endswith(_SIGNED)
    }
