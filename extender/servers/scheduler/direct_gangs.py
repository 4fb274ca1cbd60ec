"""Direct gangs: when filter may plan one, and what becomes of the reservations it gives."""

from dataclasses import dataclass

from extender.controllers.queue import QueueController
from extender.core.kinds import registry
from extender.core.scheduler import direct_gangs
from extender.core.scheduler.direct_gangs import QueueView
from extender.core.scheduler.filtering import FilterVerdict
from extender.writers.decision_log.recorder import Recorder
from shared import labels
from shared.model import JobKey, Pod


@dataclass(frozen=True)
class DirectDesk:
    """Asked before and told after every answer to filter."""

    recorder: Recorder
    schedule: QueueController

    def waits(self, pod: Pod) -> bool:
        """Say whether the pod was refused before, and nothing has changed for it since.

        Waiting pods are asked about again and again, thousands of them whenever anything happens to
        a bound pod: so this looks at nothing but the pod and two tables.
        """
        if not _is_ours_to_place(pod, self.schedule.context.parameters.scheduler_name):
            return False
        waiting = self.schedule.is_in_line(registry.job_key(pod))
        return waiting and not self.recorder.store.has_place(pod.uid)

    def occasion(self, pod: Pod) -> QueueView:
        """Return what filter must know of the queue; the pod is known to the store afterwards."""
        if pod.scheduler_name != self.schedule.context.parameters.scheduler_name:
            return direct_gangs.NEVER
        self.recorder.show(pod)
        if labels.PLAN in pod.annotations or pod.scheduling_group:
            return direct_gangs.NEVER
        if self.recorder.store.has_place(pod.uid):
            return direct_gangs.NEVER
        key = registry.job_key(pod)
        return QueueView(self.schedule.may_plan(key), self.recorder.clock.monotonic())

    def take_over(self, pod: Pod, verdict: FilterVerdict) -> None:
        """Keep what was given away, or put the gang that got nothing into the queue."""
        if verdict.not_offered is not None:
            self.schedule.refuse(pod.uid, verdict.not_offered)
        if (grant := verdict.grant) is not None:
            if grant.taken:
                self.recorder.take_placeholder(grant.job, grant.taken, pod.uid)
            self.recorder.give(grant)
        elif verdict.nowhere:
            self._turn_away(registry.job_key(pod))

    def _turn_away(self, job: JobKey) -> None:
        """Its reservations for others are given back: without this member they are of no use."""
        if job in self.recorder.store.snapshot().placeholders:
            self.recorder.drop_placeholders(job)
        self.schedule.turn_away(job)


def _is_ours_to_place(pod: Pod, scheduler_name: str) -> bool:
    released = labels.PLAN in pod.annotations
    return pod.scheduler_name == scheduler_name and not released and not pod.scheduling_group
