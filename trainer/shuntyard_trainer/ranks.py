"""The processes of one job come to one decision."""

from __future__ import annotations

from typing import Callable

from shuntyard_trainer.errors import RanksError, SettingError

Agree = Callable[[int], int]
"""Returns on every rank the largest of what all ranks gave, when all have given.

So it is a barrier, too. Examples: an all-reduce with MAX; ``comm.allreduce(mine, op=MPI.MAX)``.
"""


class Ranks:
    """This process and the others. Alone it agrees with itself at no cost.

    Args:
        rank: Of this process, from 0.
        world_size: Number of processes.
        agree: Needed if there are others.

    Raises:
        SettingError: There are others and no way to agree with them.
    """

    def __init__(self, rank: int, world_size: int, agree: Agree | None) -> None:
        if world_size > 1 and agree is None:
            raise SettingError(
                f"{world_size} processes train together: give agree=, a function that returns on "
                "every rank the largest of what all ranks gave (torch.distributed: "
                "shuntyard_trainer.torch_ranks.agree); for processes that train each for itself "
                "give rank=0, world_size=1 and a directory each"
            )
        self.alone = world_size == 1
        self.first = rank == 0
        self._agree = agree

    def largest(self, mine: int) -> int:
        """Return the largest of what all ranks gave; returns when all have given."""
        return mine if self.alone or self._agree is None else self._agree(mine)

    def all_ok(self, mine: bool) -> bool:  # noqa: FBT001 - it is the one thing that is asked
        """Return whether it went well on every rank."""
        return self.largest(0 if mine else 1) == 0

    def require_same_step(self, step: int) -> None:
        """Go on only if every rank is at this step.

        Raises:
            RanksError: Another rank is at another one; raised on every rank.
        """
        most, least = self.largest(step), -self.largest(-step)
        if most != least:
            raise RanksError(f"this rank is at step {step}, the ranks are at {least} to {most}")
