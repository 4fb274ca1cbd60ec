"""What the ranks of a job agree on through torch.distributed.

Source:
    https://docs.pytorch.org/docs/stable/distributed.html: ``all_reduce``, ``gather_object``,
    ``new_group``.
"""

from __future__ import annotations

import atexit
from datetime import timedelta
from typing import Any

import torch
from torch import distributed

from shuntyard_trainer.ranks import Agree

PATIENCE = timedelta(hours=2)
"""How long a rank waits for another one that is still saving."""


class CpuGroup:
    """A process group of its own on the CPU (gloo).

    So it neither waits for the GPU nor mixes with the collectives of the training. All ranks
    create it at the first call.
    """

    def __init__(self) -> None:
        self._group: distributed.ProcessGroup | None = None

    @property
    def group(self) -> distributed.ProcessGroup:
        """The group; created by all ranks together."""
        if self._group is None:
            self._group = distributed.new_group(backend="gloo", timeout=PATIENCE)
            atexit.register(self._close)
        return self._group

    def largest(self, mine: int) -> int:
        """Return the largest of the values of all ranks."""
        value = torch.tensor([mine], dtype=torch.int64)
        distributed.all_reduce(value, op=distributed.ReduceOp.MAX, group=self.group)
        return int(value.item())

    def gather(self, mine: Any) -> list[Any]:
        """Return the values of all ranks on rank 0, and nothing on the others."""
        first = distributed.get_rank() == 0
        every = [None] * distributed.get_world_size() if first else None
        distributed.gather_object(mine, every, dst=0, group=self.group)
        return every or []

    def _close(self) -> None:
        """End gloo's threads before the interpreter ends: later they abort it sometimes.

        A thread that is late with the last agreement needs the interpreter to give its tensors
        back. If that has begun to end, the thread is ended within C++, and the process aborts with
        exit code 134 instead of 143. The threads end with the last reference to their group, so
        none may stay here. Other backends are left to the program.
        """
        group, self._group = self._group, None
        if distributed.is_initialized():
            gloo = distributed.get_backend() == distributed.Backend.GLOO
            distributed.destroy_process_group(None if gloo else group)


def agree() -> Agree:
    """Return a function that returns the largest of the values of all ranks."""
    return CpuGroup().largest


def several() -> bool:
    """Return True if this process trains with others through torch.distributed."""
    ready = distributed.is_available() and distributed.is_initialized()
    return bool(ready and distributed.get_world_size() > 1)
