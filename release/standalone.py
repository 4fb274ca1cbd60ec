"""The command line with a Python of its own, for machines without one, and its krew manifest.

krew installs plugins of kubectl: it unpacks an archive for the machine's system and processor, and
links the program in it.

Source:
    https://krew.sigs.k8s.io/docs/developer-guide/plugin-manifest/
"""

import hashlib
import platform
import shutil
import sys
import tarfile
import tempfile
import venv
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import yaml

from release import versions
from release.errors import ReleaseError
from release.images import ask
from release.locks import DIRECTORY, ROOT

PROGRAM: Final = "kubectl-shuntyard"
PLATFORMS: Final = (("linux", "amd64"), ("linux", "arm64"), ("darwin", "arm64"))
"""System and processor, as Go calls them: a runner of the workflow makes each."""
_PROCESSORS: Final = {"x86_64": "amd64", "aarch64": "arm64", "arm64": "arm64"}
_SECONDS: Final = 900.0
_ENTRY: Final = "import sys\nfrom cli.__main__ import main\nsys.exit(main())\n"
_SHORT: Final = "Why training jobs wait, and when they start"
_LONG: Final = """\
Shuntyard places training jobs: gangs start together or not at all, from one queue.
This plugin shows the queue, why a job waits and what would make it start, what a job
would do before it is submitted, and how running jobs train and move.
"""
_CAVEATS: Final = """\
It reads from the extender of Shuntyard, which an administrator installs in the cluster.
`kubectl shuntyard doctor` checks whether it is there.
"""


def name(version: str, system: str, processor: str) -> str:
    """Return the name of the archive for a system and a processor."""
    return f"{PROGRAM}_v{version}_{system}_{processor}.tar.gz"


def build(wheel: Path, directory: Path) -> Path:
    """Make the archive for this machine; return its file.

    Args:
        wheel: Of our distribution.
        directory: Where the archive is written.

    Raises:
        ReleaseError: No release is made for this machine, or a step failed.
    """
    here = (platform.system().lower(), _PROCESSORS.get(platform.machine().lower(), ""))
    if here not in PLATFORMS:
        raise ReleaseError(f"no release is made for {platform.system()} {platform.machine()}")
    directory.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        made = _made(wheel.resolve(), Path(folder))
        shutil.copyfile(ROOT / "LICENSE", made / "LICENSE")
        archive = directory / name(versions.stated(), *here)
        with tarfile.open(archive, "w:gz") as tar:
            for file in sorted(made.iterdir()):
                tar.add(file, file.name)
    return archive


def _made(wheel: Path, folder: Path) -> Path:
    """Return a folder with the program and all that it needs."""
    environment, entry = folder / "environment", folder / "main.py"
    venv.create(environment, symlinks=True)
    python = str(environment / "bin/python")
    install = (sys.executable, "-m", "pip", "--python", python, "install", "--quiet")
    lock = DIRECTORY / "standalone.txt"
    ask((*install, "--require-hashes", "--requirement", str(lock)), seconds=_SECONDS)
    ask((*install, "--no-deps", "--no-index", str(wheel)), seconds=_SECONDS)
    entry.write_text(_ENTRY)
    packed = (
        *("--collect-submodules", "cli", "--collect-submodules", "shared"),
        *("--collect-data", "shared", "--copy-metadata", "shuntyard"),
    )
    folders = (
        *("--distpath", str(folder / "dist"), "--workpath", str(folder / "work")),
        *("--specpath", str(folder)),
    )
    options = ("--noconfirm", "--onedir", "--log-level", "ERROR", "--name", PROGRAM)
    ask(
        (python, "-m", "PyInstaller", *options, *packed, *folders, str(entry)),
        {"PYTHONPATH": "", "PYINSTALLER_CONFIG_DIR": str(folder / "cache")},
        seconds=_SECONDS,
    )
    return folder / "dist" / PROGRAM


def krew(version: str, repository: str, directory: Path) -> str:
    """Return the krew manifest of the archives in a directory.

    Args:
        version: Of the release, without ``v``.
        repository: URL of the repository that has the release.
        directory: Holds the archive of each platform.

    Raises:
        ReleaseError: An archive is missing.
    """
    manifest = {
        "apiVersion": "krew.googlecontainertools.github.com/v1alpha2",
        "kind": "Plugin",
        "metadata": {"name": PROGRAM.removeprefix("kubectl-")},
        "spec": {
            "version": f"v{version}",
            "homepage": repository,
            "shortDescription": _SHORT,
            "description": _LONG,
            "caveats": _CAVEATS,
            "platforms": list(_platforms(version, repository, directory)),
        },
    }
    return yaml.safe_dump(manifest, sort_keys=False, width=100)


def _platforms(version: str, repository: str, directory: Path) -> Iterator[dict[str, Any]]:
    for system, processor in PLATFORMS:
        archive = directory / name(version, system, processor)
        if not archive.is_file():
            raise ReleaseError(f"{archive} is missing: krew installs it on {system} {processor}")
        yield {
            "selector": {"matchLabels": {"os": system, "arch": processor}},
            "uri": f"{repository}/releases/download/v{version}/{archive.name}",
            "sha256": hashlib.sha256(archive.read_bytes()).hexdigest(),
            "bin": PROGRAM,
        }
