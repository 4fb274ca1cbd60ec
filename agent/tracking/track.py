"""One metric of one source: its values, its curve, what that shows, its forecast.

Each metric has its own grid of ticks, from its first value on, on the agent's clock. Values with a
time are assigned to that time, also if they are read late (TensorBoard's writer keeps them for two
minutes). So an agent that restarts and reads a file again comes to the same category.
"""

from math import isfinite
from typing import Final

import msgspec

from agent.tracking.curve import Curve
from shared.convergence import evidence as curves
from shared.convergence import rate as rates
from shared.convergence.categories import ConvergenceState, due, tick
from shared.convergence.forecast import Forecast, forecast
from shared.convergence.parameters import ConvergenceParameters, Rule
from shared.convergence.rate import Rate
from shared.progress import Category, Evidence, Goal, Span, Stage

MOST_SILENT_TICKS: Final = 16
"""Ticks of a silence; of a longer one, only the last are made: the others change nothing."""
FORECAST_SECONDS: Final = (20.0, 600.0)
FORECAST_RATIO: Final = 0.2
"""A curve is fitted again when the run is older by this ratio, within these bounds: a fit takes
milliseconds, and changes little for a run that is hardly older."""


class Track:
    """See the module.

    Args:
        goal: Direction in which the metric improves.
        params: The rule for the category, and parameters of Algorithm 1.
        judged: Whether the metric shows how far a run has converged.
    """

    def __init__(self, goal: Goal, params: ConvergenceParameters, *, judged: bool = True) -> None:
        self.goal = goal
        self._judged = judged
        self._evidence = Evidence()
        self._plateau_at: float | None = None
        self.state = ConvergenceState()
        self.curve = Curve()
        self.points = 0
        self.value: float | None = None
        self.first_value: float | None = None
        self.best_value: float | None = None
        self.first_at: float | None = None
        self.last_at = 0.0
        self.bad_values = 0
        self.bad_since_step: float | None = None
        self._params = params
        self._step: float | None = None
        self._fresh: float | None = None
        self._due_at = float("-inf")
        self._forecast = Forecast()
        self._forecast_at = float("-inf")

    @property
    def category(self) -> Category:
        """By the rule of the parameters."""
        if self._params.rule is Rule.SPECON:
            return self.state.category
        return curves.category(self.evidence.stage)

    @property
    def converged_at(self) -> float | None:
        """When it became converged; None if it is not."""
        if self._params.rule is Rule.SPECON:
            return self.state.converged_at
        return self._plateau_at if self.evidence.stage is Stage.PLATEAU else None

    @property
    def evidence(self) -> Evidence:
        """What the curve shows; a NaN counts at once, the rest since the last forecast."""
        if self.diverged:
            return Evidence(stage=Stage.DIVERGING, since_step=self.bad_since_step)
        return self._evidence if self._judged else Evidence(stage=Stage.UNJUDGED)

    @property
    def diverged(self) -> bool:
        """True if the last value was NaN or infinite."""
        return self.bad_values > 0

    def take(self, value: float, step: float | None, at: float) -> None:
        """Add the next value; ``at`` in seconds since the epoch."""
        if at >= self._due_at:
            self._tick(at, silent=True)
        self.points += 1
        self.last_at = at
        if self.first_at is None:
            self.first_at = at
        if not isfinite(value):
            self.bad_since_step = self.bad_since_step if self.diverged else step
            self.bad_values += 1
            return
        if self.bad_values:
            self.bad_values, self.bad_since_step = 0, None
        self._fresh = self.value = value
        if self.first_value is None or self.best_value is None:
            self.first_value = self.best_value = value
        elif value < self.best_value if self.goal is Goal.MIN else value > self.best_value:
            self.best_value = value
        self._step = self._step if step is None else step
        self.curve.add(float(self.points) if self._step is None else self._step, value, at)
        if self.state.ticked_at is None:
            self._tick(at, silent=False)

    def restart(self, step: float) -> None:
        """Note that the run restarted at ``step``."""
        self.state = ConvergenceState()
        self.curve.cut(step)
        self.bad_values, self.bad_since_step = 0, None
        self._fresh, self._due_at = None, float("-inf")
        self._forecast, self._forecast_at = Forecast(), float("-inf")
        self._evidence, self._plateau_at = Evidence(), None

    def advance(self, now: float) -> None:
        """Make the ticks that are due ``now``, seconds since the epoch.

        Unless silence counts, ticks wait for values: those may come late.
        """
        self._tick(now, silent=self._params.count_silent_ticks)

    def _tick(self, now: float, *, silent: bool) -> None:
        """Make all ticks up to ``now``; ``silent``: also those without a new value."""
        if self.state.ticked_at is None and self._fresh is None:
            return
        while due(self.state, now, self._params) and (silent or self._fresh is not None):
            if self._fresh is None:
                self._skip_silence(now)
            before, interval_seconds = self.state.ticked_at, self._params.interval_seconds
            at = now if before is None or before > now else before + interval_seconds
            self.state = tick(self.state, self._fresh, now=at, goal=self.goal, params=self._params)
            self._fresh = None
            self._due_at = at + interval_seconds

    def predict(self, total_steps: float | None, now: float, rate: Rate = rates.UNKNOWN) -> None:
        """Judge and fit the curve again if that is due.

        Without steps there is no end: a number of points is not a number of steps.

        Args:
            total_steps: Where the run ends; None if unknown.
            now: Seconds since the epoch.
            rate: What is known of the learning rate, in this metric's steps.
        """
        total_steps = None if self._step is None else total_steps
        age_seconds = now - (now if self.first_at is None else self.first_at)
        least_seconds, most_seconds = FORECAST_SECONDS
        wait_seconds = min(most_seconds, max(least_seconds, FORECAST_RATIO * age_seconds))
        if now - self._forecast_at < wait_seconds:
            return
        self._forecast_at = now
        points = tuple(self.curve.points())
        self._forecast = forecast(points, total_steps, now, self.goal)
        self._evidence = curves.judge(points, goal=self.goal, total_steps=total_steps, rate=rate)
        if self._evidence.stage is not Stage.PLATEAU:
            self._plateau_at = None
        elif self._plateau_at is None:
            self._plateau_at = self.last_at

    @property
    def remaining_seconds(self) -> Span | None:
        """The predicted time to the end, counted from the last value."""
        span = self._forecast.remaining_seconds
        passed_seconds = self.last_at - self._forecast_at
        if span is None or passed_seconds <= 0:
            return span
        return Span(
            max(0.0, span.value - passed_seconds),
            max(0.0, span.low - passed_seconds),
            max(0.0, span.high - passed_seconds),
        )

    @property
    def remaining_loss(self) -> Span | None:
        """The predicted further improvement."""
        return self._forecast.remaining_loss

    def _skip_silence(self, now: float) -> None:
        before, interval_seconds = self.state.ticked_at, self._params.interval_seconds
        if before is not None and now - before > MOST_SILENT_TICKS * interval_seconds:
            skipped = int((now - before) / interval_seconds) - MOST_SILENT_TICKS
            at = before + skipped * interval_seconds
            self.state = msgspec.structs.replace(self.state, ticked_at=at)
