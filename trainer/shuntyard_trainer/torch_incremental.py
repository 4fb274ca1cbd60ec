"""Parts that seldom change, each in a file of its own that is written only when it has changed.

A frozen model beside an adapter, a table of embeddings: checkpoints name the file, and share it.

Source:
    Ours. Files are named by a BLAKE2b digest of the state, so equal states are one file.
"""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, Callable

import torch

from shuntyard_trainer.checkpoint_format import examine
from shuntyard_trainer.durable import make_durable
from shuntyard_trainer.errors import SettingError, UnloadableError

_DIGEST_BYTES = 16
Files = Mapping[str, str]
"""Name of the file of each part, in the directory of the checkpoints."""


class IncrementalParts:
    """See the module.

    Args:
        names: Parts that are saved so.
        known: All parts.

    Raises:
        SettingError: A name is of no part, or cannot be part of a file's name.
    """

    def __init__(self, names: Collection[str], known: Collection[str]) -> None:
        for name in names:
            if name not in known or not name.replace("_", "").replace("-", "").isalnum():
                raise SettingError(
                    f"incremental={name!r}: expected a name of parts, of letters, digits, - and _"
                )
        self.names = frozenset(names)

    def save(self, states: Mapping[str, Any], directory: Path) -> dict[str, str]:
        """Write the files that do not exist, durably; return those of all parts."""
        files = {}
        for name in sorted(self.names):
            files[name] = f"part-{name}-{digest(states[name])}.pt"
            path = directory / files[name]
            if _is_whole(path):
                continue
            temporary = directory / f".unfinished-{path.name}"
            torch.save(states[name], temporary)
            make_durable(temporary)
            temporary.replace(path)
        return files

    def read(self, files: Files, directory: Path, load: Callable[[Path], Any]) -> dict[str, Any]:
        """Return the states of the files of a checkpoint."""
        return {name: load(directory / file) for name, file in files.items()}

    def inspect(self, files: Files, directory: Path) -> None:
        """Check that the files of a checkpoint are there, with all their bytes.

        Raises:
            UnloadableError: One is not.
        """
        for name, file in files.items():
            if not (directory / file).exists():
                raise UnloadableError(f"{file}, the part {name}, is missing")
            examine(directory / file, lambda: True)

    def prune(self, kept: Collection[str], directory: Path) -> None:
        """Remove the files of parts that no checkpoint names."""
        for pattern in ("part-*.pt", ".unfinished-part-*.pt"):
            for path in directory.glob(pattern):
                if path.name not in kept:
                    path.unlink(missing_ok=True)


def _is_whole(path: Path) -> bool:
    """Return True if it need not be written again."""
    try:
        examine(path, lambda: True)
    except (OSError, UnloadableError):
        return False
    return True


def digest(state: Any) -> str:
    """Return a digest of a state: of its names, types, shapes and values."""
    found = hashlib.blake2b(digest_size=_DIGEST_BYTES)
    for piece in _pieces(state):
        found.update(piece)
    return found.hexdigest()


def _pieces(value: Any) -> Iterator[bytes | memoryview]:
    if isinstance(value, Mapping):
        yield f"{{{len(value)}".encode()
        for key, each in value.items():
            yield pickle.dumps(key)
            yield from _pieces(each)
    elif isinstance(value, (list, tuple)):
        yield f"[{len(value)}".encode()
        for each in value:
            yield from _pieces(each)
    elif isinstance(value, torch.Tensor):
        plain = value.detach().cpu().contiguous()
        yield f"{plain.dtype} {tuple(plain.shape)}".encode()
        yield memoryview(plain.reshape(-1).view(torch.uint8).numpy())
    else:
        yield pickle.dumps(value)
