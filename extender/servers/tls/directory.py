"""Write certificates into a directory, in the shape of a mounted Secret.

The files are links through one link to a directory that never changes; a new generation is another
directory, and one rename of that link renews all of them at once. Blocks: call it in a thread.
"""

import contextlib
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Final

CURRENT: Final = "..data"
_GENERATION: Final = "..generation-"


def write(directory: Path, files: Mapping[str, bytes]) -> bool:
    """Make the directory hold these files; return True if it did not before.

    Args:
        directory: Created if it does not exist. One process at a time writes it.
        files: Contents by name; only our own user can read them.

    Raises:
        OSError: It cannot be written.
    """
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    if _contents(directory, files) == files:
        return False
    before = _generations(directory)
    last = _in_use(directory)
    new = directory / f"{_GENERATION}{_number(before[-1]) + 1 if before else 1}"
    _create(new, files)
    for name in files:
        if not (directory / name).is_symlink():
            _link(directory / name, f"{CURRENT}/{name}")
    for old in before:
        if old.name != last:  # a reader may have that one open
            shutil.rmtree(old, ignore_errors=True)
    return True


def _create(generation: Path, files: Mapping[str, bytes]) -> None:
    """Write a generation and put it into use; if that fails, nothing stays of it."""
    with contextlib.ExitStack() as undo:
        undo.callback(shutil.rmtree, generation, ignore_errors=True)
        generation.mkdir(mode=0o700)
        for name, content in files.items():
            _write(generation / name, content)
        _link(generation.with_name(CURRENT), generation.name)
        undo.pop_all()


def _in_use(directory: Path) -> str | None:
    """Return the name of the generation in use; None if there is none."""
    with contextlib.suppress(OSError):
        return (directory / CURRENT).readlink().name
    return None


def _contents(directory: Path, names: Mapping[str, bytes]) -> Mapping[str, bytes]:
    with contextlib.suppress(OSError):
        return {name: (directory / name).read_bytes() for name in names}
    return {}


def _generations(directory: Path) -> list[Path]:
    """Return the generations, the oldest first."""
    paths = directory.glob(f"{_GENERATION}*")
    return sorted((path for path in paths if _number(path)), key=_number)


def _number(generation: Path) -> int:
    text = generation.name.removeprefix(_GENERATION)
    return int(text) if text.isdecimal() else 0


def _write(file: Path, content: bytes) -> None:
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(content)


def _link(link: Path, target: str) -> None:
    """Set a link to another target, without a moment at which it has none."""
    new = link.with_name(f"{link.name}.new")
    new.unlink(missing_ok=True)
    new.symlink_to(target)
    try:
        new.replace(link)
    except OSError:
        new.unlink()
        raise
