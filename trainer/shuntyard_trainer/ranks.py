"""Agreement of the processes of one job."""

from __future__ import annotations

from typing import Callable

from shuntyard_trainer.errors import RanksError, SettingError

Agree = Callable[[int], int]
"""Returns on every rank the largest of the values of all ranks.

It is also a barrier. Examples: an all-reduce with MAX; ``comm.allreduce(mine, op=MPI.MAX)``.
"""


class Ranks:
    """The ranks of a job; a single rank agrees at no cost.

    Args:
        rank: Rank of this process, from 0.
        world_size: Number of processes.
        agree: Needed with several processes.

    Raises:
        SettingError: There are several processes and no ``agree``.
    """

    def __init__(self, rank: int, world_size: int, agree: Agree | None) -> None:
        if world_size > 1 and agree is None:
            raise SettingError(
                f"{world_size} processes train together: give agree=, a function that returns on "
                "every rank the largest of the values of all ranks (torch.distributed: "
                "shuntyard_trainer.torch_ranks.agree); for independent processes give rank=0, "
                "world_size=1 and a directory each"
            )
        self.alone = world_size == 1
        self.first = rank == 0
        self._agree = agree

    def largest(self, mine: int) -> int:
        """Return the largest of the values of all ranks; waits for all."""
        return mine if self.alone or self._agree is None else self._agree(mine)

    def all_ok(self, mine: bool) -> bool:  # noqa: FBT001 - the only argument
        """Return True if it succeeded on every rank."""
        return self.largest(0 if mine else 1) == 0

    def require_same_step(self, step: int) -> None:
        """Check that every rank is at this step.

        Raises:
            RanksError: A rank is at another step; raised on every rank.
        """
        most, least = self.largest(step), -self.largest(-step)
        if most != least:
            raise RanksError(f"this rank is at step {step}, the ranks are at {least} to {most}")
