// The strip above every view: what the cluster has, how many jobs wait, and whether jobs are placed.
import type { JSX } from "preact";
import type { JobsResponse, NodesResponse, QueueResponse } from "./api";
import { type Capacity, capacity, scarce } from "./capacity";
import { amount, coming, duration, plural, resourceName } from "./format";
import { Bar } from "./parts";

export function Strip(props: {
  queue: QueueResponse | null;
  jobs: JobsResponse | null;
  nodes: NodesResponse | null;
  nodesProblem: string;
  now: number;
}): JSX.Element {
  const waiting = props.queue?.entries ?? [];
  const able = waiting.filter((entry) => entry.position !== null);
  const starts = able.map((entry) => entry.estimated_start).filter((at) => at !== null);
  const running = props.jobs?.entries.filter((job) => job.counts.bound > 0).length ?? 0;
  const oldest = Math.max(0, ...waiting.map((entry) => props.now - entry.created_at));
  return (
    <div class="strip" role="group" aria-label="Cluster">
      <Resource nodes={props.nodes} problem={props.nodesProblem} />
      <Figure name="Running">{props.jobs ? plural(running, "job") : "…"}</Figure>
      <Figure name="Waiting" note={waiting.length ? `longest ${duration(oldest)}` : ""}>
        {props.queue ? plural(waiting.length, "job") : "…"}
      </Figure>
      <Figure name="Next start" note={starts.length < able.length ? `${able.length - starts.length} unknown` : ""}>
        {starts.length ? coming(Math.min(...starts), props.now) : "–"}
      </Figure>
      <Figure name="Scheduler" bad={props.queue?.acting === false}>
        {props.queue === null ? "…" : props.queue.acting ? "placing jobs" : "no leader answers"}
      </Figure>
    </div>
  );
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
  if (props.nodes === null) {
    return (
      <div class="figure resource">
        <span class="name">Nodes</span>
        <strong>{props.problem ? "not shown" : "…"}</strong>
        <span class="note">{props.problem}</span>
      </div>
    );
  }
  const entries = props.nodes.entries;
  const of = capacity(entries, scarce(entries));
  const usable = of.free - of.stranded;
  return (
    <div class="figure resource">
      <span class="name">
        {resourceName(of.resource)} <span class="note">{plural(entries.length, "node")}</span>
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
        <span class="used">{amount(of.resource, of.used)} used</span>
        <span class="free">{amount(of.resource, usable)} free</span>
        <span
          class="stranded"
          title="Free, but no pod can have it: the node is not ready, cordoned, or out of CPU, memory or pods"
        >
          {amount(of.resource, of.stranded)} stranded
        </span>
      </span>
    </div>
  );
}

function sentenceOf(of: Capacity): string {
  const [total, used] = [amount(of.resource, of.total), amount(of.resource, of.used)];
  return `${used} of ${total} ${resourceName(of.resource)} used`;
}
