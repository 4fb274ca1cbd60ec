"""``agree`` for jobs that use torch.distributed.

Source:
    https://docs.pytorch.org/docs/stable/distributed.html: ``all_reduce``, ``new_group``.
"""

from __future__ import annotations

import atexit
from datetime import timedelta

import torch
from torch import distributed

from shuntyard_trainer.ranks import Agree

PATIENCE = timedelta(hours=2)
"""How long a rank waits for another one that is still saving."""


def agree() -> Agree:
    """Return a function that returns the largest of the values of all ranks.

    It has its own process group on the CPU (gloo), so it neither waits for the GPU nor mixes with
    the collectives of the training. All ranks create the group at the first call.
    """
    groups: list[distributed.ProcessGroup] = []

    def largest(mine: int) -> int:
        if not groups:
            groups.append(distributed.new_group(backend="gloo", timeout=PATIENCE))
            atexit.register(_close, groups[0])
        value = torch.tensor([mine], dtype=torch.int64)
        distributed.all_reduce(value, op=distributed.ReduceOp.MAX, group=groups[0])
        return int(value.item())

    return largest


def _close(group: distributed.ProcessGroup) -> None:
    """End gloo's threads before the interpreter ends: later they abort it sometimes.

    That would be exit code 134 instead of 143. Other backends are left to the program.
    """
    if distributed.is_initialized():
        gloo = distributed.get_backend() == distributed.Backend.GLOO
        distributed.destroy_process_group(None if gloo else group)


def several() -> bool:
    """Return True if this process trains with others through torch.distributed."""
    ready = distributed.is_available() and distributed.is_initialized()
    return bool(ready and distributed.get_world_size() > 1)
