// The strip above every view: what the cluster has, how many jobs wait, and whether jobs are placed.
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { JobsResponse, NodesResponse, QueueResponse } from "./api";
import { type Capacity, capacity, scarce } from "./capacity";
import { amount, coming, duration, figure, plural, several } from "./format";
import { Bar } from "./parts";

export function Strip(props: {
  queue: QueueResponse | null;
  jobs: JobsResponse | null;
  nodes: NodesResponse | null;
  nodesProblem: string;
  now: number;
}): JSX.Element {
  const { queue, jobs } = props;
  const { waiting, unknown, next, oldest } = useMemo(() => summary(queue), [queue]);
  const running = useMemo(() => jobs?.entries.filter((job) => job.counts.bound > 0).length ?? 0, [jobs]);
  return (
    <div class="strip" role="group" aria-label="Cluster">
      <Resource nodes={props.nodes} problem={props.nodesProblem} />
      <Figure name="Running">{jobs ? plural(running, "job") : "…"}</Figure>
      <Figure name="Waiting" note={waiting ? `longest ${duration(props.now - oldest)}` : ""}>
        {queue ? plural(waiting, "job") : "…"}
      </Figure>
      <Figure name="Next start" note={unknown ? `${unknown} unknown` : ""}>
        {next === null ? "–" : coming(next, props.now)}
      </Figure>
      <Figure name="Scheduler" bad={props.queue?.acting === false}>
        {props.queue === null ? "…" : props.queue.acting ? "placing jobs" : "no leader answers"}
      </Figure>
    </div>
  );
}

interface Summary {
  readonly waiting: number;
  /** Jobs that can start, of which no start is known. */
  readonly unknown: number;
  readonly next: number | null;
  /** When the job that waits longest was created. */
  readonly oldest: number;
}

function summary(queue: QueueResponse | null): Summary {
  const waiting = queue?.entries ?? [];
  let [unknown, next, oldest] = [0, Infinity, Infinity];
  for (const entry of waiting) {
    oldest = Math.min(oldest, entry.created_at);
    if (entry.position === null) continue;
    if (entry.estimated_start === null) unknown += 1;
    else next = Math.min(next, entry.estimated_start);
  }
  return { waiting: waiting.length, unknown, next: Number.isFinite(next) ? next : null, oldest };
}

function Figure(props: { name: string; children: string; note?: string; bad?: boolean }): JSX.Element {
  return (
    <div class={props.bad ? "figure bad" : "figure"}>
      <span class="name">{props.name}</span>
      <strong>{props.children}</strong>
      {props.note && <span class="note">{props.note}</span>}
    </div>
  );
}

function Resource(props: { nodes: NodesResponse | null; problem: string }): JSX.Element {
  const { nodes } = props;
  const of = useMemo(() => nodes && capacity(nodes.entries, scarce(nodes.entries)), [nodes]);
  if (nodes === null || of === null) {
    return (
      <div class="figure resource">
        <span class="name">Nodes</span>
        <strong>{props.problem ? "not shown" : "…"}</strong>
        <span class="note">{props.problem}</span>
      </div>
    );
  }
  const usable = of.free - of.stranded;
  return (
    <div class="figure resource">
      <span class="name">
        {several(of.resource)} of {plural(nodes.entries.length, "node")}
      </span>
      <Bar
        label={sentenceOf(of)}
        total={of.total}
        parts={[
          { kind: "used", value: of.used },
          { kind: "free", value: usable },
          { kind: "stranded", value: of.stranded },
        ]}
      />
      <span class="legend">
        <span class="used">{figure(of.resource, of.used)} used</span>
        <span class="free">{figure(of.resource, usable)} free</span>
        <span
          class="stranded"
          title="Free, but no pod can have it: the node is not ready, cordoned, or out of CPU, memory or pods"
        >
          {figure(of.resource, of.stranded)} stranded
        </span>
      </span>
    </div>
  );
}

function sentenceOf(of: Capacity): string {
  return `${figure(of.resource, of.used)} of ${amount(of.resource, of.total)} used`;
}
