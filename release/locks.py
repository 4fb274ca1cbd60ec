"""The files in ``requirements/``: each package, its version, the hashes of all its files.

uv resolves them for every platform and every Python that pyproject.toml allows, so one file serves
a laptop, CI and both images.
"""

import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from packaging.requirements import Requirement

from release.errors import ReleaseError

ROOT: Final = Path(__file__).parents[1]
DIRECTORY: Final = ROOT / "requirements"
_HASH: Final = "--hash=sha256:"
_UV: Final = (
    *("uv", "pip", "compile", "--quiet", "--generate-hashes", "--no-annotate"),
    *("--python-version", "3.11", "--custom-compile-command", "make lock"),
)
_EVERY_PLATFORM: Final = ("--universal",)
_LINUX: Final = ("--python-platform", "x86_64-manylinux_2_28")


@dataclass(frozen=True)
class Lock:
    """One file of ``requirements/``.

    Attributes:
        name: The file, without ``.txt``.
        sources: What is resolved: pyproject.toml or ``.in`` files, from the root.
        extras: Of pyproject.toml.
        platform: Options that say for which platforms.
    """

    name: str
    sources: tuple[str, ...]
    extras: tuple[str, ...] = ()
    platform: tuple[str, ...] = _EVERY_PLATFORM

    @property
    def file(self) -> Path:
        """Where it is."""
        return DIRECTORY / f"{self.name}.txt"


BUILD: Final = "requirements/build.in"
LOCKS: Final = (
    Lock("build", (BUILD,)),
    Lock("dev", ("pyproject.toml", BUILD), ("dev",)),
    Lock("extender", ("pyproject.toml",), ("extender",)),
    Lock("agent", ("pyproject.toml",), ("agent", "gpu")),
    Lock("cli", ("pyproject.toml", BUILD), ("cli",)),
    Lock("sbom", ("requirements/sbom.in",)),
    Lock("standalone", ("pyproject.toml", BUILD, "requirements/standalone.in"), ("cli",)),
    Lock("frameworks", ("requirements/frameworks.in", BUILD), platform=_LINUX),
)


@dataclass(frozen=True)
class Pinned:
    """One package of a lock."""

    requirement: Requirement
    hashes: tuple[str, ...]


def pinned(text: str) -> tuple[Pinned, ...]:
    """Return the packages of a lock.

    Raises:
        ReleaseError: A line is neither a package with one exact version nor a hash.
    """
    found = []
    for entry in text.replace("\\\n", " ").splitlines():
        line = entry.partition("#")[0].strip()
        if not line:
            continue
        stated, *hashes = line.split(_HASH)
        requirement = Requirement(stated.strip())
        if not str(requirement.specifier).startswith("=="):
            raise ReleaseError(f"{stated.strip()}: expected one exact version")
        found.append(Pinned(requirement, tuple(one.strip() for one in hashes)))
    return tuple(found)


def write(locks: Sequence[Lock] = LOCKS, *, upgrade: bool = False) -> None:
    """Resolve the locks again.

    Args:
        locks: Which.
        upgrade: Take the newest versions instead of keeping what is locked.

    Raises:
        ReleaseError: uv is missing, or finds no versions that fit together.
    """
    if shutil.which("uv") is None:
        raise ReleaseError("uv is missing: `make venv` installs it")
    for lock in locks:
        extras = (word for extra in lock.extras for word in ("--extra", extra))
        wish = ("--upgrade",) if upgrade else ()
        with tempfile.TemporaryDirectory() as directory:
            # uv keeps the versions of the file that it writes to; a failure must not spoil it
            output = Path(directory) / lock.file.name
            if lock.file.exists():
                shutil.copyfile(lock.file, output)
            command = (*_UV, *lock.platform, *extras, *wish, *lock.sources, "-o", str(output))
            done = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
            if done.returncode:
                raise ReleaseError(f"{lock.file.name}: {done.stderr.strip()}")
            shutil.copyfile(output, lock.file)
