// Jobs that have saved and left their nodes: by hand, or for a more important job.
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { JobEntry } from "./api";
import { coming, duration, sentence } from "./format";
import { type Column, JobLink, Section, Table } from "./parts";
import { asks, keyOf } from "./queue";

export function Parked(props: { jobs: readonly JobEntry[]; namespace: string; now: number }): JSX.Element | null {
  const rows = useMemo(() => props.jobs.filter((job) => job.state === "parked"), [props.jobs]);
  if (!rows.length) return null;
  return (
    <Section title="Parked" note="They have saved, and resume from their checkpoint.">
      <Table caption="Parked jobs" columns={columns(props.namespace, props.now)} rows={rows} id={keyOf} />
    </Section>
  );
}

function columns(namespace: string, now: number): readonly Column<JobEntry>[] {
  return [
    { title: "Job", shape: "head", cell: (job) => <JobLink job={keyOf(job)} namespace={namespace} /> },
    { title: "Team", cell: (job) => job.namespace },
    { title: "Asks for", shape: "whole", cell: asks },
    { title: "Parked", shape: "number", cell: (job) => (job.since === null ? "" : `${duration(now - job.since)} ago`) },
    {
      title: "Starts",
      shape: "number",
      cell: (job) => (job.estimated_start === null ? "unknown" : coming(job.estimated_start, now)),
    },
    { title: "Why", shape: "wide", cell: (job) => sentence(job.message) },
  ];
}
