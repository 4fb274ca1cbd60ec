// Jobs with pods on nodes: how far each is, and when it ends.
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { JobEntry } from "./api";
import { coming, number, percent, plural, span } from "./format";
import { Bar, type Column, Curve, JobLink, Quiet, Section, Table } from "./parts";
import { keyOf } from "./queue";

export function Running(props: { jobs: readonly JobEntry[]; namespace: string; now: number }): JSX.Element {
  const rows = useMemo(() => props.jobs.filter((job) => job.counts.bound > 0), [props.jobs]);
  return (
    <Section title="Running">
      {rows.length ? (
        <Table caption="Running jobs" columns={columns(props.namespace, props.now)} rows={rows} id={keyOf} />
      ) : (
        <Quiet>No job runs.</Quiet>
      )}
    </Section>
  );
}

function columns(namespace: string, now: number): readonly Column<JobEntry>[] {
  return [
    { title: "Job", shape: "head", cell: (job) => <JobLink job={keyOf(job)} namespace={namespace} /> },
    { title: "Team", cell: (job) => job.namespace },
    { title: "Pods", shape: "number", cell: (job) => `${number(job.counts.bound)} of ${number(job.members)}` },
    { title: "Nodes", shape: "number", cell: (job) => number(job.nodes.length) },
    { title: "Done", cell: (job) => <Done job={job} /> },
    { title: "Metric", cell: metric },
    { title: "Left", shape: "number", cell: left },
    { title: "Ends", shape: "number", cell: (job) => ends(job, now) },
    { title: "State", shape: "wide", cell: state },
  ];
}

/** How much of the training is done, 0 to 1; null if it is not known. */
export function done(job: JobEntry): number | null {
  const { progress, end } = job;
  if (progress?.step != null && progress.total_steps) return Math.min(1, progress.step / progress.total_steps);
  return end?.done_percent != null ? end.done_percent / 100 : null;
}

export function Done(props: { job: JobEntry }): JSX.Element {
  const part = done(props.job);
  const step = props.job.progress?.step;
  if (part === null) return <>{step != null ? `step ${number(step)}` : "unknown"}</>;
  return (
    <span class="done">
      <Bar label={`${percent(part)} done`} total={1} parts={[{ kind: "used", value: part }]} />
      {percent(part)}
    </span>
  );
}

function metric(job: JobEntry): JSX.Element | string {
  const { progress } = job;
  if (!progress) return "–";
  const value = progress.value === null ? "no value yet" : number(progress.value);
  return (
    <span class="metric">
      {progress.metric} {value}
      <Curve class="spark" values={progress.curve} label={`Course of ${progress.metric}`} />
    </span>
  );
}

export function left(job: JobEntry): string {
  const remaining = job.progress?.remaining;
  return remaining ? span(remaining.low, remaining.high) : "–";
}

export function ends(job: JobEntry, now: number): string {
  return job.end?.at != null ? coming(job.end.at, now) : "unknown";
}

/** The state in words: whether the metric still improves, and what is wrong. */
export function state(job: JobEntry): string {
  const { progress, problem, progress_problem: unread } = job;
  if (problem) return problem;
  if (!progress) return unread || "No metrics are reported.";
  const course = progress.diverged ? "The metric is not a number." : COURSES[progress.category];
  const faults = job.faults.map((fault) => `${FAULTS[fault.kind] ?? fault.kind}: ${fault.message}.`).join(" ");
  const silent = progress.stale ? " The node's agent is silent." : "";
  const attempt = progress.attempt > 1 ? ` ${plural(progress.attempt - 1, "restart")}.` : "";
  return `${faults || course}${silent}${attempt}`;
}

const FAULTS: Readonly<Record<string, string>> = {
  Hung: "Hangs",
  Straggler: "Straggles",
  Diverged: "Diverged",
};

const COURSES = {
  progressing: "Improves.",
  watching: "Improves slowly.",
  converged: "Converged.",
} as const;

/** Where an expected end comes from, in words. */
export const SOURCES: Readonly<Record<string, string>> = {
  status: "by the job's own status",
  annotation: "by its expected duration",
  history: "by earlier runs",
  progress: "by its training progress",
  unstated: "no duration is stated",
  overrun: "it runs longer than stated",
};
