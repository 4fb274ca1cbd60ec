"""Metrics of a run: times, value, fairness, and the moves and preemptions they took."""

from collections.abc import Mapping, Sequence
from statistics import fmean, median

from msgspec import Struct

from simulator.cluster.records import JobRecord, Run
from simulator.comparison.windows import alone_seconds
from simulator.numbers import quantile
from simulator.workload import GPU, Job, Workload


class Metrics(Struct, frozen=True, kw_only=True):
    """Metrics of one run. Times in seconds; uncompleted jobs count as completing at the horizon.

    Attributes:
        completed: Share of the jobs that completed.
        mean_jct: Mean time from submission to completion.
        median_jct: Its median.
        p95_jct: Its 95 % quantile.
        p99_jct: Its 99 % quantile.
        makespan: From the first submission to the last completion.
        utilisation: Mean share of the GPUs (of the CPU without GPUs) in use until then.
        queueing: Mean time to the first start.
        deadline_hits: Share of the jobs with a deadline that met it; None: no job has one.
        value: Utility as a share of the utility if all jobs ran at once on an empty cluster;
            None: no job states one.
        rho_mean: Mean of ρ, time to completion over the job's time on the empty cluster with its
            requested workers.
        rho_worst: 95 % quantile of ρ.
        migrations: Pods moved.
        rescales: Changes of the number of workers.
        preemptions: Jobs preempted.
        lost_seconds: Lost work, as seconds of the jobs on the empty cluster.

    Source:
        ρ: Mahajan et al., Themis, NSDI 2020 (there with a 1/N share of the cluster instead).
    """

    completed: float
    mean_jct: float
    median_jct: float
    p95_jct: float
    p99_jct: float
    makespan: float
    utilisation: float
    queueing: float
    deadline_hits: float | None
    value: float | None
    rho_mean: float
    rho_worst: float
    migrations: float
    rescales: float
    preemptions: float
    lost_seconds: float


def horizon(runs: Sequence[Run]) -> float:
    """Return the last completion under any scheduler, which counts for jobs that never complete."""
    ends = [job.completed_at for run in runs for job in run.jobs if job.completed_at is not None]
    return max(ends, default=0.0)


def measure(workload: Workload, run: Run, end: float) -> Metrics:
    """Return the metrics of a run.

    Args:
        workload: The workload of the run.
        run: The run.
        end: The ``horizon`` of all compared runs.
    """
    records = {record.name: record for record in run.jobs}
    pairs = [(job, records[job.name]) for job in workload.jobs]
    times = [_time(record, end) for _, record in pairs]
    first = min(job.submitted_at for job in workload.jobs)
    last = max(job.submitted_at + time for (job, _), time in zip(pairs, times, strict=True))
    alone = [alone_seconds(job, workload.machines) for job in workload.jobs]
    rhos = [time / seconds for time, seconds in zip(times, alone, strict=True)]
    return Metrics(
        completed=len(run.completed) / len(pairs),
        mean_jct=fmean(times),
        median_jct=median(times),
        p95_jct=quantile(times, 0.95),
        p99_jct=quantile(times, 0.99),
        makespan=last - first,
        utilisation=_utilisation(run, first, last),
        queueing=fmean(_queueing(record, end) for _, record in pairs),
        deadline_hits=_hits(workload.jobs, records),
        value=_value(workload.jobs, records, alone),
        rho_mean=fmean(rhos),
        rho_worst=quantile(rhos, 0.95),
        migrations=float(sum(record.migrations for _, record in pairs)),
        rescales=float(sum(record.rescales for _, record in pairs)),
        preemptions=float(sum(record.preemptions for _, record in pairs)),
        lost_seconds=sum(
            record.lost_work / job.work * seconds
            for (job, record), seconds in zip(pairs, alone, strict=True)
        ),
    )


def _time(record: JobRecord, end: float) -> float:
    done = record.completion_seconds
    return max(0.0, end - record.submitted_at) if done is None else done


def _queueing(record: JobRecord, end: float) -> float:
    waited = record.queueing_seconds
    return max(0.0, end - record.submitted_at) if waited is None else waited


def _utilisation(run: Run, first: float, last: float) -> float:
    name = GPU if GPU in run.utilisation else "cpu"
    taken = run.utilisation.get(name, 0.0) * (run.ended_at - first)
    return taken / max(last - first, 1e-9)


def _hits(jobs: Sequence[Job], records: Mapping[str, JobRecord]) -> float | None:
    with_deadline = [job for job in jobs if job.deadline_seconds is not None]
    kept = [
        job
        for job in with_deadline
        if (time := records[job.name].completion_seconds) is not None
        and time <= (job.deadline_seconds or 0.0)
    ]
    return len(kept) / len(with_deadline) if with_deadline else None


def _value(
    jobs: Sequence[Job], records: Mapping[str, JobRecord], alone: Sequence[float]
) -> float | None:
    best = reached = 0.0
    for job, seconds in zip(jobs, alone, strict=True):
        if job.worth is not None:
            best += job.worth.of(seconds)
            time = records[job.name].completion_seconds
            reached += 0.0 if time is None else job.worth.of(time)
    return reached / best if best > 0 else None
