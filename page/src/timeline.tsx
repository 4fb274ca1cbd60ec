// When jobs end and start, as expected now.
import type { JSX } from "preact";
import type { JobEntry, QueueEntry } from "./api";
import { between, coming, plural, span } from "./format";
import { Gantt, type Line } from "./gantt";
import { Quiet, Section } from "./parts";
import { keyOf } from "./queue";
import { SOURCES } from "./running";

export function Timeline(props: {
  jobs: readonly JobEntry[];
  queue: readonly QueueEntry[];
  namespace: string;
  now: number;
}): JSX.Element {
  const { now } = props;
  const running = props.jobs.filter((job) => job.counts.bound > 0).map((job) => runs(job, now));
  const able = props.queue.filter((entry) => entry.position !== null);
  const waiting = able.filter((entry) => entry.estimated_start !== null);
  const unknown = able.length - waiting.length;
  const lines = [...running, ...waiting.map((entry) => starts(entry, now))];
  if (!lines.length) return <Quiet>No job runs, and no start is known.</Quiet>;
  return (
    <Section
      title="Expected ends and starts"
      note={unknown ? `Of ${plural(unknown, "waiting job")} no start is known.` : ""}
    >
      <Gantt lines={lines} namespace={props.namespace} now={now} />
    </Section>
  );
}

export function runs(job: JobEntry, now: number): Line {
  const end = job.end?.at ?? null;
  const remaining = job.progress?.remaining;
  const band = remaining ? ([remaining.low, remaining.high] as const) : null;
  const to = end === null ? (remaining?.value ?? null) : Math.max(0, end - now);
  const says = (): string =>
    to === null ? "Runs; its end is unknown." : `Runs; ends ${coming(now + to, now)}${band ? likely(job, band) : ""}.`;
  return { key: keyOf(job), kind: "runs", from: 0, to, band, before: null, says };
}

/** When the training alone would end; that is another time where the end is a stated or a usual one. */
function likely(job: JobEntry, band: readonly [number, number]): string {
  const stated = job.end?.at != null && job.end.why !== "progress" ? SOURCES[job.end.why] : undefined;
  return stated ? ` ${stated}; by its training in ${span(...band)}` : `, likely in ${span(...band)}`;
}

function starts(entry: QueueEntry, now: number): Line {
  const from = Math.max(0, (entry.estimated_start ?? now) - now);
  const { earliest_start: earliest, latest_start: latest } = entry;
  const likely = between(earliest, latest, now);
  const to = latest === null ? Number.MAX_SAFE_INTEGER : latest - now;
  const band = likely && earliest !== null ? ([Math.max(0, earliest - now), to] as const) : null;
  const says = (): string =>
    `Starts ${coming(now + from, now)}${likely}${entry.estimate ? `: ${entry.estimate}` : ""}.`;
  return { key: keyOf(entry), kind: "starts", from, to: null, band, before: null, says };
}
