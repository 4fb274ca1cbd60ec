"""The loops that measure: the cluster and our loops, and the reports of agents."""

from collections.abc import Callable

from extender.app.context import Context
from extender.app.parts import Loop
from extender.controllers.measure import MeasureLoop, ReportsLoop
from extender.core.parameters.combined import CoreParameters
from extender.store.source import SnapshotSource


def measuring(
    store: SnapshotSource,
    parameters: CoreParameters,
    context: Context,
    barrier: Callable[[], int],
    *,
    agents: bool,
) -> tuple[Loop, ...]:
    """Return the loops; that of the reports only where agents report."""
    cluster = MeasureLoop(
        store=store,
        pricing=parameters.pricing,
        clock=context.clock,
        metrics=context.metrics,
        heartbeat=context.beat("measure"),
        health=context.health,
        barrier=barrier,
    )
    if not agents:
        return (cluster,)
    stale_seconds = parameters.agent_reports.stale_seconds
    beat = context.beat("agents")
    return (cluster, ReportsLoop(store, context.clock, context.metrics, beat, stale_seconds))
