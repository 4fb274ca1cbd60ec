"""The trainer's side of the checkpoint contract, in one object."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterable, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Any, Callable, TypeVar

from shuntyard_trainer.answering import Answering, Hold
from shuntyard_trainer.boundary import Boundary, Decision, Order
from shuntyard_trainer.clock import Clock
from shuntyard_trainer.environment import Environment
from shuntyard_trainer.mailbox import Mailbox
from shuntyard_trainer.orders import Orders
from shuntyard_trainer.ranks import Agree, Ranks
from shuntyard_trainer.records import Saved
from shuntyard_trainer.saving import Save, Saver, Where, last_saved
from shuntyard_trainer.termination import Termination
from shuntyard_trainer.verifying import Verifier, Verify

Batch = TypeVar("Batch")


class Checkpoints:
    """Saves on request, answers, holds, and exits with 143.

    A *step* is a number of completed steps: after the first step it is 1, and training that
    resumes at step n begins with the step of index n. Every rank of a job creates one object and
    calls the same methods with the same steps.

    Args:
        directory: The checkpoint directory; None: no requests, only SIGTERM is handled.
        save: Takes the completed steps, writes a checkpoint and returns its path, or ``Pending`` if
            it writes in the background; None: a framework saves (``due`` and ``conclude``).
        poll_seconds: Least time between two checks for a request.
        save_every_seconds: Also save without a request; None: never.
        save_at_end: ``done`` saves if the last step is not saved, so that a restart after the end
            repeats nothing.
        pod_uid: Uid of this pod; empty if unknown.
        generation: Number of the job's start, which grows; None if unknown.
        rank: Rank of this process in the job, from 0.
        world_size: Processes of the job.
        agree: Needed with several processes, see ``ranks.Agree``.
        agree_every_steps: Boundaries per ``agree``.
        every_rank_saves: ``save`` is called on every rank (sharded checkpoints), else on rank 0.
        every_rank_verifies: ``verify`` is called on every rank, which loads a part of its own.
        verify: Loads a checkpoint, on rank 0, before it counts; or a ``Verifier`` with settings.
        inspect: Raises if a part is missing or has another size; on rank 0, at every save.
        restore: Restores random generators; called before the first step, see ``batches``.
        train_while_saving: Also make steps while a requested checkpoint is ``Pending``.
        handle_sigterm: Catch SIGTERM here; else call ``terminate``.
        termination: An object that catches SIGTERM already.
        clock: For tests.

    Raises:
        SettingError: An argument cannot be used, the directory cannot be made, or SIGTERM cannot
            be caught on this thread.
    """

    def __init__(
        self,
        directory: str | os.PathLike[str] | None,
        save: Save | None = None,
        *,
        poll_seconds: float = 1.0,
        save_every_seconds: float | None = None,
        save_at_end: bool = True,
        pod_uid: str = "",
        generation: int | None = None,
        rank: int = 0,
        world_size: int = 1,
        agree: Agree | None = None,
        agree_every_steps: int = 1,
        every_rank_saves: bool = False,
        every_rank_verifies: bool = False,
        verify: Verify | Verifier | None = None,
        inspect: Verify | None = None,
        restore: Callable[[], object] | None = None,
        train_while_saving: bool = False,
        handle_sigterm: bool = True,
        termination: Termination | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._clock = clock or Clock()
        self._started_at = self._clock.now()
        self._rank, self._world_size = rank, world_size
        self._ranks = Ranks(rank, world_size, agree)
        self._termination = termination or Termination()
        if handle_sigterm:
            self._termination.handle_sigterm()
        where = None if directory is None else Path(directory)
        first = where if self._ranks.first else None
        self._mailbox = Mailbox(first, pod_uid, self._clock, generation) if first else None
        self._resume = last_saved(where)  # after the mailbox: an older copy commits nothing more
        parts = (self._mailbox, self._ranks, self._termination)
        self._boundary = Boundary(
            *parts,
            self._clock,
            poll_seconds=poll_seconds,
            save_every_seconds=save_every_seconds,
            agree_every_steps=agree_every_steps,
        )
        self._answering = Answering(*parts, Hold(*parts, self._clock, poll_seconds))
        self._saver = Saver(
            save,
            where,
            self._mailbox,
            self._ranks,
            self._clock,
            verify if isinstance(verify, Verifier) else Verifier(verify),
            inspect=inspect,
            every_rank_saves=every_rank_saves,
            every_rank_verifies=every_rank_verifies,
        )
        own = (self._saver, self._answering, self._boundary, self._ranks)
        self._orders = Orders(*own, train_while_saving=train_while_saving)
        self._save_at_end = save_at_end
        self._restore = restore
        self._begun = False
        self._trained = False

    @classmethod
    def from_environment(
        cls, save: Save | None = None, *, environment: Environment | None = None, **options: Any
    ) -> Checkpoints:
        """Return one for this pod and process; ``options`` are those of the class and win.

        Without ``SHUNTYARD_CHECKPOINT_DIR`` there are no requests, and only ``save`` writes files,
        so the same script runs anywhere.

        Raises:
            SettingError: A variable or an option cannot be used.
        """
        here = environment or Environment.read()
        return cls(save=save, **{**here.options(), **options})

    @property
    def resume(self) -> Saved | None:
        """The checkpoint to resume from, with a usable path; None: start from scratch."""
        return self._resume

    @property
    def terminating(self) -> bool:
        """True if this process must end; long pauses of the training may check it."""
        return self._termination.requested

    def steps(self, total: int) -> Iterator[int]:
        """Yield the index of each remaining step, and fulfil the contract between steps.

        After ``break`` or an exception nothing more happens: call ``done`` if that was the end.

        Raises:
            SystemExit: With 143, at a boundary after SIGTERM.
            SaveError: The last save failed.
        """
        start = self.start_step()
        for index in range(start, total):
            yield index
            self.step_done(index + 1)
        self.done(max(start, total))

    def start_step(self) -> int:
        """Return the completed steps, and report to the agent that training begins.

        Raises:
            RanksError, SystemExit: As ``begin``.
        """
        step = 0 if self._resume is None else self._resume.step
        self.begin(step)
        return step

    def begin(self, completed: int) -> None:
        """Report to the agent that training begins at ``completed`` steps; later calls do nothing.

        If an earlier process of this pod answered a request and was not released, it holds here.

        Raises:
            RanksError: The ranks do not begin at the same step.
            SystemExit: With 143, if SIGTERM came already, or a later copy of this training exists.
        """
        if self._begun:
            return
        self._begun = True
        self._ranks.require_same_step(completed)
        kept, box = None, self._mailbox
        ends = self.terminating or (box is not None and not box.may_begin())
        if box is not None and not box.superseded:
            box.write_trainer(completed or None, self._started_at, self._rank, self._world_size)
            kept = box.unfinished_hold()
        mine = Decision.HOLD if kept else Decision.GO_ON
        decision = self._ranks.largest(Decision.TERMINATE if ends else mine)
        if decision == Decision.TERMINATE:
            self._termination.leave()
        elif decision == Decision.HOLD:
            self._answering.keep_hold(kept)
        if self._restore is not None:
            self._restore()

    def batches(self, loader: Iterable[Batch]) -> Iterator[Batch]:
        """Begin an epoch: return the batches of a loader.

        Making an iterator draws from the random generators. In the first epoch of this life they
        are restored after that.

        Raises:
            SystemExit: As ``begin``.
        """
        self.start_step()
        batches = iter(loader)
        if self._restore is not None:
            if isinstance(batches, Generator):  # it begins with its first batch
                batches = chain(list(islice(batches, 1)), batches)
            self._restore()
            self._restore = None
        return batches

    def step_done(self, completed: int) -> None:
        """Pass a boundary: ``completed`` steps are done, and the model has their result.

        Raises:
            SystemExit: With 143, after SIGTERM.
        """
        self._orders.carry_out(self.due(completed), completed)

    def due(self, completed: int) -> Order | None:
        """Return the order to save at this boundary; then ``conclude`` must follow.

        For frameworks that cannot give a ``save`` function; the same result on every rank.
        """
        if not self._trained:
            self._first_step(completed)
        return self._boundary.due(completed)

    def conclude(self, order: Order, where: Where) -> None:
        """Complete an order whose checkpoint a framework has written at ``where``.

        Raises:
            SystemExit: With 143, after SIGTERM.
        """
        self._orders.conclude(order, where)

    def note_saved(self, completed: int, where: Where, started_at: float) -> Saved:
        """Report a checkpoint that was written without a request; on every rank.

        Raises:
            SaveError: It does not exist, here or on another rank.
        """
        self._boundary.saved()
        self._orders.wait()
        return self._saver.complete(completed, where, started_at)

    def save_now(self, completed: int) -> Saved:
        """Save without a request, on every rank; a saved step is not saved again.

        Raises:
            SaveError: It failed on this or another rank.
        """
        self._boundary.saved()
        self._orders.wait()
        return self._saver.save(completed)

    def done(self, completed: int) -> None:
        """Report that the training is complete; call it when everything is saved.

        Afterwards SIGTERM has its previous handler.

        Raises:
            SaveError: The last save failed.
        """
        self._orders.wait()
        if self._save_at_end and self._saver.can_save and not self._is_stored(completed):
            self.save_now(completed)
        self._ranks.largest(0)
        if self._mailbox is not None:
            self._mailbox.write_done(completed)
        self.close()

    def terminate(self) -> None:
        """Request the end of the pod, as SIGTERM does; any thread or signal handler may call it."""
        self._termination.request()

    def close(self) -> None:
        """Restore the previous handler of SIGTERM."""
        self._termination.close()

    def _first_step(self, completed: int) -> None:
        self.begin(completed - 1)
        self._trained = True
        if self._mailbox is not None:
            self._mailbox.remove_done()

    def _is_stored(self, completed: int) -> bool:
        """Return True if this process saved the step, or did no step after resuming at it."""
        resumed_here = self._resume is not None and self._resume.step == completed
        return self._saver.is_saved(completed) or (resumed_here and not self._trained)
