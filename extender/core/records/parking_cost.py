"""What a parking has cost its job, as far as it is measured."""

from msgspec import Struct


class Cost(Struct, frozen=True, omit_defaults=True):
    """See the module; None: not measured, or not yet. The time in the queue is in the record.

    Attributes:
        save_seconds: How long the slowest trainer wrote its checkpoint.
        stopped_step: Completed steps when its pods were stopped.
        resumed_step: Completed steps with which its training went on.
        restart_seconds: From the end of the suspension to the first new step that agents report.
        earlier_restart_seconds: The restart that was last measured at an earlier parking.
    """

    save_seconds: float | None = None
    stopped_step: int | None = None
    resumed_step: int | None = None
    restart_seconds: float | None = None
    earlier_restart_seconds: float | None = None

    @property
    def last_restart_seconds(self) -> float | None:
        """The last restart that was measured, at this parking or at an earlier one."""
        if self.restart_seconds is None:
            return self.earlier_restart_seconds
        return self.restart_seconds

    @property
    def lost_steps(self) -> int | None:
        """How many steps had to be done again."""
        if self.stopped_step is None or self.resumed_step is None:
            return None
        return max(0, self.stopped_step - self.resumed_step)
