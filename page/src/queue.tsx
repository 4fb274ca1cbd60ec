// The queue: jobs that can start, in order, and apart those that need a change first.
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { JobsResponse, QueueEntry, QueueResponse } from "./api";
import { amount, coming, duration, isGpu, number, plural, resourceName, sentence } from "./format";
import { type Column, JobLink, Quiet, Section, Table } from "./parts";

interface Row {
  readonly entry: QueueEntry;
  readonly asks: string;
}

export function Queue(props: {
  queue: QueueResponse;
  jobs: JobsResponse | null;
  namespace: string;
  now: number;
}): JSX.Element {
  const { queue, jobs } = props;
  const [stuck, able] = useMemo(() => rowsOf(queue, jobs), [queue, jobs]);
  const columns = listed(props.namespace, props.now);
  return (
    <>
      {stuck.length > 0 && (
        <Section title="Needs you" note="These jobs cannot start until something is changed.">
          <Table
            caption="Jobs that cannot start without a change"
            columns={columns.filter((column) => column.title !== "Place" && column.title !== "Starts")}
            rows={stuck}
            id={id}
          />
        </Section>
      )}
      <Section title="Queue" note={ORDERS[props.queue.order] ?? ""}>
        {able.length ? (
          <Table caption="Waiting jobs in the order in which they will be placed" columns={columns} rows={able} id={id} />
        ) : (
          <Quiet>No job waits.</Quiet>
        )}
        <Others others={props.queue.others} />
      </Section>
    </>
  );
}

/** Jobs that need a change, and jobs that can start. */
function rowsOf(queue: QueueResponse, jobs: JobsResponse | null): readonly [readonly Row[], readonly Row[]] {
  const asked = requests(jobs);
  const rows = queue.entries.map((entry) => ({ entry, asks: asks(entry, asked.get(keyOf(entry))) }));
  return [rows.filter((row) => row.entry.position === null), rows.filter((row) => row.entry.position !== null)];
}

/** Jobs of teams that are not shown: their places are missing above. */
function Others(props: { others: QueueResponse["others"] }): JSX.Element | null {
  const { others } = props;
  if (!others?.jobs) return null;
  const asked = Object.entries(others.requests).find(([name]) => isGpu(name)) ?? cpu(others.requests);
  const wanted = asked ? ` for ${amount(...asked)} ${resourceName(asked[0])}` : "";
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

function listed(namespace: string, now: number): readonly Column<Row>[] {
  return [
    { title: "Place", shape: "number", cell: ({ entry }) => number(entry.position ?? 0) },
    { title: "Job", shape: "head", cell: ({ entry }) => <JobLink job={keyOf(entry)} namespace={namespace} /> },
    { title: "Team", cell: ({ entry }) => entry.namespace },
    { title: "Asks for", cell: (row) => row.asks },
    { title: "Waited", shape: "number", cell: ({ entry }) => duration(now - entry.created_at) },
    {
      title: "Starts",
      shape: "number",
      cell: ({ entry }) => (
        <span title={entry.estimate}>{entry.estimated_start === null ? "unknown" : coming(entry.estimated_start, now)}</span>
      ),
    },
    { title: "Why it waits", shape: "wide", cell: ({ entry }) => <Reason reason={entry.reason} message={entry.message} /> },
  ];
}

export function Reason(props: { reason: string; message: string }): JSX.Element {
  return (
    <span>
      {sentence(props.message || props.reason)} {props.message && <span class="token">{props.reason}</span>}
    </span>
  );
}

/** "8 pods, 8 GPU"; the GPUs where the list of jobs says how many. */
function asks(entry: QueueEntry, amounts: Readonly<Record<string, number>> | undefined): string {
  const pods = entry.min_available ?? entry.members;
  const named = Object.entries(amounts ?? {}).find(([resource]) => isGpu(resource)) ?? cpu(amounts);
  const more = named ? `, ${amount(...named)} ${resourceName(named[0])}` : "";
  return `${number(pods)} ${pods === 1 ? "pod" : "pods"}${more}`;
}

function cpu(amounts: Readonly<Record<string, number>> | undefined): [string, number] | undefined {
  const milli = amounts?.["cpu"];
  return milli ? ["cpu", milli] : undefined;
}

function requests(jobs: JobsResponse | null): ReadonlyMap<string, Readonly<Record<string, number>>> {
  return new Map((jobs?.entries ?? []).map((job) => [keyOf(job), job.requests]));
}

export function keyOf(entry: { readonly namespace: string; readonly kind: string; readonly job: string }): string {
  return `${entry.namespace}/${entry.kind}/${entry.job}`;
}

function id(row: Row): string {
  return keyOf(row.entry);
}
