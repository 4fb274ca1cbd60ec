"""Sharded checkpoints of torch.distributed.checkpoint: are they whole, and can they be loaded?

Source:
    https://docs.pytorch.org/docs/stable/distributed.checkpoint.html: ``FileSystemReader``,
    ``DefaultLoadPlanner``. A shard has many tensors, each at the place that ``.metadata`` names.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch.distributed import checkpoint as dcp
from torch.distributed.checkpoint.metadata import MetadataIndex, TensorStorageMetadata
from torch.distributed.checkpoint.planner import LoadItemType, LoadPlan, ReadItem

from shuntyard_trainer.errors import UnloadableError

METADATA = ".metadata"


def inspect_below(path: str) -> None:
    """Check every sharded checkpoint at or below a path, if there is one.

    Raises:
        UnloadableError: One is not whole.
    """
    for metadata in Path(path).rglob(METADATA):
        require_whole(metadata.parent)


def require_whole(folder: Path) -> list[str]:
    """Check that every tensor has its place, and every shard its bytes; return all names.

    Raises:
        UnloadableError: Something is missing, or a shard is shorter than the metadata says.
    """
    metadata = _read(folder)
    stored: dict[MetadataIndex, Any] = metadata.storage_data
    for index in (each.storage_index for each in _reads(metadata)):
        if index not in stored:
            raise UnloadableError(f"{METADATA} has no place for {index.fqn}")
    ends: dict[str, int] = {}
    for info in stored.values():
        name = info.relative_path
        ends[name] = max(ends.get(name, 0), info.offset + info.length)
    for name, end in ends.items():
        file = folder / name
        size = file.stat().st_size if file.exists() else 0
        if size < end:
            raise UnloadableError(f"{name} has {size} bytes, and {METADATA} says {end}")
    return list(metadata.state_dict_metadata)


def require_states(folder: Path, states: set[str]) -> None:
    """Check that a checkpoint is whole and has these states.

    Raises:
        UnloadableError: As ``require_whole``, or a state is missing.
    """
    missing = states - {name.partition(".")[0] for name in require_whole(folder)}
    if missing:
        raise UnloadableError(f"there is no {' and no '.join(sorted(missing))} in {folder}")


def load_part(folder: Path, rank: int, world_size: int) -> None:
    """Load what this rank has to: every shard is loaded by one rank. One tensor is in memory.

    Raises:
        Exception: What ``torch.load`` raises.
    """
    metadata = _read(folder)
    stored = metadata.storage_data
    names = sorted({info.relative_path for info in stored.values()})
    mine = set(names[rank::world_size])
    for info in stored.values():
        if info.relative_path in mine:
            _require_sums(folder / info.relative_path, info.offset, info.length)
    reads = [each for each in _reads(metadata) if stored[each.storage_index].relative_path in mine]
    reader, planner = dcp.FileSystemReader(folder), _Discard()
    reader.set_up_storage_reader(metadata, is_coordinator=False)
    planner.set_up_planner({}, metadata)
    reader.read_data(LoadPlan(reads), planner).wait()


def _require_sums(file: Path, offset: int, length: int) -> None:
    """Check the sums of a piece, which is an archive: ``torch.load`` does not look at them."""
    with file.open("rb") as opened:
        opened.seek(offset)
        data = io.BytesIO(opened.read(length))
    if not zipfile.is_zipfile(data):
        return
    with zipfile.ZipFile(data) as archive:
        broken = archive.testzip()
    if broken is not None:
        raise UnloadableError(f"{file.name} is not whole: {broken} at byte {offset}")


class _Discard(dcp.DefaultLoadPlanner):  # type: ignore[misc]
    """Loads what is read, and keeps nothing."""

    def load_bytes(self, read_item: ReadItem, value: Any) -> None:
        del read_item
        torch.load(value, weights_only=False)  # as ``dcp.load`` does

    def resolve_tensor(self, read_item: ReadItem) -> torch.Tensor:
        metadata: Any = self.metadata
        stored = metadata.state_dict_metadata[read_item.storage_index.fqn]
        return torch.empty(read_item.lengths, dtype=stored.properties.dtype)

    def commit_tensor(self, read_item: ReadItem, tensor: torch.Tensor) -> None:
        """Keep nothing."""


def _read(folder: Path) -> Any:
    return dcp.FileSystemReader(folder).read_metadata()


def _reads(metadata: Any) -> Iterator[ReadItem]:
    """Yield how to read each piece as a whole."""
    for name, stored in metadata.state_dict_metadata.items():
        kind = LoadItemType.BYTE_IO
        pieces = [(MetadataIndex(name), torch.Size((0,)))]
        if isinstance(stored, TensorStorageMetadata):
            kind = LoadItemType.TENSOR
            pieces = [(MetadataIndex(name, each.offsets), each.sizes) for each in stored.chunks]
        for index, sizes in pieces:
            start = torch.Size([0] * len(sizes))
            yield ReadItem(kind, index, start, index, start, sizes)
