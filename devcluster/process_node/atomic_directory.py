"""A directory of files that changes all at once.

Source:
    The kubelet's ``AtomicWriter``: ``..data`` is a symbolic link to a directory of one version,
    each visible name a link through it, so that replacing the one link replaces every file.
"""

import itertools
import shutil
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Final

from devcluster.process_node.volume_files import File

_DATA: Final = "..data"


def write(directory: Path, files: Mapping[str, File]) -> bool:
    """Make ``directory`` hold exactly ``files``; True if something changed."""
    directory.mkdir(parents=True, exist_ok=True)
    data = directory / _DATA
    if data.is_symlink() and _holds(data, files):
        return False
    version = _next_version(directory)
    for name, file in files.items():
        path = version / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(file.content)
        path.chmod(file.mode)
    before = data.resolve() if data.is_symlink() else None
    fresh = directory / "..data_tmp"
    fresh.symlink_to(version.name)
    fresh.replace(data)
    _link_names(directory, {PurePosixPath(name).parts[0] for name in files})
    if before is not None:
        shutil.rmtree(before)
    return True


def _next_version(directory: Path) -> Path:
    for number in itertools.count(1):
        version = directory / f"..version_{number}"
        if not version.exists():
            version.mkdir(mode=0o755)
            return version
    raise AssertionError("counting does not end")


def _holds(data: Path, files: Mapping[str, File]) -> bool:
    present = {str(path.relative_to(data)): path for path in data.rglob("*") if path.is_file()}
    return present.keys() == files.keys() and all(
        path.read_bytes() == files[name].content for name, path in present.items()
    )


def _link_names(directory: Path, names: set[str]) -> None:
    for path in directory.iterdir():
        if not path.name.startswith("..") and path.name not in names:
            path.unlink()
    for name in names:
        link = directory / name
        if not link.is_symlink():
            link.symlink_to(Path(_DATA) / name)
