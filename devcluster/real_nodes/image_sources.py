"""What an image is built from, as one short word: builds of the same word are the same image."""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_COPY: Final = "COPY "
_OF_A_STAGE: Final = "--from="
_LENGTH: Final = 16


def key(root: Path, dockerfile: Path, base: str) -> str:
    """Return the word for the files that a Dockerfile copies, itself, and its base.

    Args:
        root: The directory that it copies from.
        dockerfile: It.
        base: What the base image is known by.
    """
    digest = hashlib.sha256(f"{base}\n".encode())
    for file in (dockerfile, *_copied(root, dockerfile.read_text())):
        content = file.read_bytes()
        digest.update(f"{file.relative_to(root)} {len(content)}\n".encode() + content)
    return digest.hexdigest()[:_LENGTH]


def _copied(root: Path, dockerfile: str) -> Iterator[Path]:
    """Yield the files in the order of the Dockerfile's lines."""
    for line in dockerfile.splitlines():
        if line.startswith(_COPY) and _OF_A_STAGE not in line:
            for name in line.split()[1:-1]:
                yield from _files(root / name)


def _files(place: Path) -> Iterator[Path]:
    """Yield a file, or those of a directory but for what Python leaves there (.dockerignore)."""
    if not place.is_dir():
        yield place
        return
    for file in sorted(place.rglob("*")):
        if file.is_file() and "__pycache__" not in file.parts:
            yield file
