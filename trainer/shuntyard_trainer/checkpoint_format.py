"""What a checkpoint on the disk is made of, and whether its files are whole.

Standard library only, so it knows containers and not the values in them:

=================  ==========================================================================
file               what is checked
=================  ==========================================================================
zip archive        its directory, and the checksum of every record. ``torch.save``, ``numpy.savez``
                   and ``.keras`` write such archives
``.safetensors``   the header, and that the file has as many bytes as the header says
any other          that it can be opened
=================  ==========================================================================

Source:
    https://docs.pytorch.org/docs/stable/notes/serialization.html: ``data.pkl`` in an archive;
    https://github.com/huggingface/safetensors: "Format".
"""

from __future__ import annotations

import json
import pickletools
import re
import zipfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

from shuntyard_trainer.errors import UnloadableError

_CHUNK_BYTES = 1 << 20
_ZIP = b"PK"
_PICKLE = ".pkl"
_MOST_HEADER_BYTES = 100 * 1000 * 1000
_NUMBERS = re.compile(r"[0-9]+")
_TEXTS = frozenset({"SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8", "UNICODE"})


@dataclass(frozen=True)
class Format:
    """Two checkpoints of one format are loaded by the same code.

    Attributes:
        names: Names of the files, below the checkpoint, without their numbers; and how many
            files have each, so that one without a shard has another format.
        classes: Classes and functions that a pickle needs to be loaded.
    """

    names: frozenset[tuple[str, int]]
    classes: frozenset[str]


def examine(path: Path, is_late: Callable[[], bool]) -> Format:
    """Check that the files are whole, and return the format.

    Args:
        path: A file, or a directory with all below it.
        is_late: While it returns True no further record is read; directories still are.

    Raises:
        UnloadableError: A file is not whole; names it.
        OSError: A file cannot be read.
    """
    names: Counter[str] = Counter()
    classes: set[str] = set()
    for file, name in _files(path):
        names[_NUMBERS.sub("#", name)] += 1
        with file.open("rb") as opened:
            is_zip = opened.read(len(_ZIP)) == _ZIP
        if is_zip:
            classes.update(_archive(file, is_late))
        elif file.suffix == ".safetensors":
            _safetensors(file)
    return Format(frozenset(names.items()), frozenset(classes))


def _files(path: Path) -> Iterator[tuple[Path, str]]:
    if not path.is_dir():
        yield path, path.suffix
        return
    for file in sorted(path.rglob("*")):
        if file.is_file():
            yield file, str(file.relative_to(path))


def _archive(file: Path, is_late: Callable[[], bool]) -> set[str]:
    classes: set[str] = set()
    try:
        with zipfile.ZipFile(file) as archive:
            for record in archive.infolist():
                if record.filename.endswith(_PICKLE):
                    classes.update(_classes(archive.read(record)))
                elif not is_late():
                    with archive.open(record) as opened:
                        while opened.read(_CHUNK_BYTES) and not is_late():
                            pass
    except (zipfile.BadZipFile, EOFError, ValueError) as error:
        raise UnloadableError(f"{file.name} is not whole: {error}") from error
    return classes


def _classes(data: bytes) -> Iterator[str]:
    """Return what a pickle imports; from protocol 4 on its names are the two texts before."""
    texts: list[str] = []
    kept: dict[int, str] = {}
    count, last = 0, ""
    for opcode, argument, _ in pickletools.genops(data):
        name = opcode.name
        if name == "MEMOIZE" or "PUT" in name:
            kept[count if name == "MEMOIZE" else int(argument or 0)] = last
            count += 1
            continue
        if name == "GLOBAL":
            yield str(argument)
        elif name == "STACK_GLOBAL":
            yield " ".join(texts[-2:])
        last = ""
        if name in _TEXTS or name.endswith("GET"):
            last = str(argument) if name in _TEXTS else kept.get(int(argument or 0), "")
            texts = [*texts[-1:], last]


def _safetensors(file: Path) -> None:
    with file.open("rb") as opened:
        header_bytes = int.from_bytes(opened.read(8), "little")
        text = opened.read(min(header_bytes, _MOST_HEADER_BYTES))
    try:
        header = json.loads(text)
        ends = [value["data_offsets"][1] for key, value in header.items() if key != "__metadata__"]
    except (ValueError, AttributeError, KeyError, TypeError, IndexError) as error:
        raise UnloadableError(f"{file.name} is not whole: its header: {error}") from error
    expected, found = 8 + header_bytes + max(ends, default=0), file.stat().st_size
    if expected != found:
        raise UnloadableError(f"{file.name} has {found} bytes, and its header says {expected}")
