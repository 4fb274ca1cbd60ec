"""Files for those who read certificates from a directory, in the shape of a mounted Secret.

The files are links through one link to a directory that never changes; a new generation is another
directory, and one rename of that link makes all of them new at once. Blocks: call it in a thread.
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
    """Make the directory hold these files; return whether it did not before.

    Args:
        directory: It is made if it is not there. One process at a time writes it.
        files: Contents by name; only our own user can read them.

    Raises:
        OSError: It cannot be written.
    """
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    if _held(directory, files) == files:
        return False
    before = _generations(directory)
    last = _in_use(directory)
    made = directory / f"{_GENERATION}{_number(before[-1]) + 1 if before else 1}"
    _make(made, files)
    for name in files:
        if not (directory / name).is_symlink():
            _link(directory / name, f"{CURRENT}/{name}")
    for old in before:
        if old.name != last:  # somebody may be reading that one
            shutil.rmtree(old, ignore_errors=True)
    return True


def _make(generation: Path, files: Mapping[str, bytes]) -> None:
    """Write a generation and let it be the one in use; nothing stays of one that cannot be."""
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


def _held(directory: Path, names: Mapping[str, bytes]) -> Mapping[str, bytes]:
    with contextlib.suppress(OSError):
        return {name: (directory / name).read_bytes() for name in names}
    return {}


def _generations(directory: Path) -> list[Path]:
    """Return those that are there, the oldest first."""
    found = directory.glob(f"{_GENERATION}*")
    return sorted((one for one in found if _number(one)), key=_number)


def _number(generation: Path) -> int:
    text = generation.name.removeprefix(_GENERATION)
    return int(text) if text.isdecimal() else 0


def _write(file: Path, content: bytes) -> None:
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(content)


def _link(link: Path, target: str) -> None:
    """Let a link lead somewhere else, without a moment at which it leads nowhere."""
    new = link.with_name(f"{link.name}.new")
    new.unlink(missing_ok=True)
    new.symlink_to(target)
    try:
        new.replace(link)
    except OSError:
        new.unlink()
        raise
