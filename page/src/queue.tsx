// The queue: jobs that can start, in order, and apart those that need a change first.
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { QueueEntry, QueueResponse } from "./api";
import { amount, coming, duration, inShort, isGpu, number, plural, sentence } from "./format";
import { type Column, JobLink, Quiet, Section, Table } from "./parts";

export function Queue(props: {
  queue: QueueResponse;
  namespace: string;
  now: number;
}): JSX.Element {
  const { entries } = props.queue;
  const stuck = useMemo(() => entries.filter((entry) => entry.position === null), [entries]);
  const able = useMemo(() => entries.filter((entry) => entry.position !== null), [entries]);
  const columns = listed(props.namespace, props.now);
  return (
    <>
      {stuck.length > 0 && (
        <Section title="Needs you" note="These jobs cannot start until something is changed.">
          <Table
            caption="Jobs that cannot start without a change"
            columns={columns.filter((column) => column.title !== "Place" && column.title !== "Starts")}
            rows={stuck}
            id={keyOf}
          />
        </Section>
      )}
      <Section title="Queue" note={ORDERS[props.queue.order] ?? ""}>
        {able.length ? (
          <Table caption="Waiting jobs in the order in which they will be placed" columns={columns} rows={able} id={keyOf} />
        ) : (
          <Quiet>No job waits.</Quiet>
        )}
        <Others others={props.queue.others} />
      </Section>
    </>
  );
}

/** Jobs of teams that are not shown: their places are missing above. */
function Others(props: { others: QueueResponse["others"] }): JSX.Element | null {
  const { others } = props;
  if (!others?.jobs) return null;
  const asked = Object.entries(others.requests).find(([name]) => isGpu(name)) ?? cpu(others.requests);
  const wanted = asked ? ` for ${amount(...asked)}` : "";
  return (
    <Quiet>
      Other teams: {plural(others.jobs, "job")} {others.jobs === 1 ? "waits" : "wait"}
      {wanted}.
    </Quiet>
  );
}

const ORDERS: Readonly<Record<string, string>> = {
  cps: "by priority, largest first",
  creation: "oldest first",
  weighting: "by utility, then by size",
  service: "urgent ones first, then by the time they need",
};

function listed(namespace: string, now: number): readonly Column<QueueEntry>[] {
  return [
    { title: "Place", shape: "number", cell: (entry) => number(entry.position ?? 0) },
    { title: "Job", shape: "head", cell: (entry) => <JobLink job={keyOf(entry)} namespace={namespace} /> },
    { title: "Team", cell: (entry) => entry.namespace },
    { title: "Asks for", shape: "whole", cell: asks },
    { title: "Waited", shape: "number", cell: (entry) => duration(now - entry.created_at) },
    {
      title: "Starts",
      shape: "number",
      cell: (entry) => (
        <span title={entry.estimate}>{entry.estimated_start === null ? "unknown" : coming(entry.estimated_start, now)}</span>
      ),
    },
    { title: "Why it waits", shape: "wide", cell: (entry) => <Reason reason={entry.reason} message={entry.message} short /> },
  ];
}

/** A message and its token; `short` leaves out the general sentence, which the token stands for. */
export function Reason(props: { reason: string; message: string; short?: boolean }): JSX.Element {
  const { reason, message } = props;
  return (
    <span title={props.short ? sentence(message) : undefined}>
      {props.short ? inShort(message || reason, reason) : sentence(message || reason)}{" "}
      {message && <span class="token">{reason}</span>}
    </span>
  );
}

/** "8 pods, 8 GPUs". */
export function asks(entry: Pick<QueueEntry, "min_available" | "members" | "requests">): string {
  const pods = entry.min_available ?? entry.members;
  const named = Object.entries(entry.requests).find(([resource]) => isGpu(resource)) ?? cpu(entry.requests);
  const more = named ? `, ${amount(...named)}` : "";
  return `${plural(pods, "pod")}${more}`;
}

function cpu(amounts: Readonly<Record<string, number>>): [string, number] | undefined {
  const milli = amounts["cpu"];
  return milli ? ["cpu", milli] : undefined;
}

export function keyOf(entry: { readonly namespace: string; readonly kind: string; readonly job: string }): string {
  return `${entry.namespace}/${entry.kind}/${entry.job}`;
}
