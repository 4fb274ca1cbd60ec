// The nodes as a map: a square for each GPU, and which jobs are where.
import type { JSX, RefObject } from "preact";
import { useRef, useState } from "preact/hooks";
import type { JobEntry, NodeEntry } from "./api";
import { free, type Gang, largestGangs, scarce, strandedBecause } from "./capacity";
import { amount, number, percent, plural, resourceName } from "./format";
import { Bar, type Column, JobLink, Quiet, Section, Table } from "./parts";
import { keyOf } from "./queue";
import { useColumns, useSight } from "./window";

const MOST_SQUARES = 16;
const TILE_WIDTH = 208;
const TILE_GAP = 9;
const TILE_HEIGHT = 110;

export function Nodes(props: {
  nodes: readonly NodeEntry[];
  jobs: readonly JobEntry[];
  namespace: string;
}): JSX.Element {
  const [lit, setLit] = useState("");
  const resource = scarce(props.nodes);
  const here = byNode(props.jobs);
  if (!props.nodes.length) return <Quiet>There are no nodes.</Quiet>;
  return (
    <>
      <Section title="Map" note={`${resourceName(resource)} of each node; a job under the pointer lights all its nodes`}>
        <Tiles nodes={props.nodes}>
          {(node) => (
            <Tile
              key={node.name}
              node={node}
              resource={resource}
              jobs={here.get(node.name) ?? []}
              namespace={props.namespace}
              lit={lit}
              light={setLit}
            />
          )}
        </Tiles>
        <p class="legend">
          <span class="used">used</span> <span class="free">free</span>{" "}
          <span class="stranded">stranded: free, but no pod can have it</span>
        </p>
      </Section>
      {resource !== "cpu" && (
        <Section title="What would fit now" note="by GPUs alone; other resources and rules may allow less">
          <Table
            caption="The largest gang by GPUs of each pod"
            columns={GANGS}
            rows={largestGangs(props.nodes, resource)}
            id={(gang) => String(gang.perPod)}
          />
        </Section>
      )}
    </>
  );
}

/** Rows of tiles; those that are in sight. */
function Tiles(props: { nodes: readonly NodeEntry[]; children: (node: NodeEntry) => JSX.Element }): JSX.Element {
  const { nodes } = props;
  const frame = useRef<HTMLDivElement>(null);
  const columns = useColumns(frame, TILE_WIDTH, TILE_GAP);
  const rows = Array.from({ length: Math.ceil(nodes.length / columns) }, (_, i) => i * columns);
  const keys = rows.map((at) => `${columns} from ${nodes[at]!.name}`);
  const sight = useSight(keys, TILE_HEIGHT);
  return (
    <div ref={frame} role="list" aria-label={plural(nodes.length, "node")}>
      <div ref={sight.ref as RefObject<HTMLDivElement | null>} role="presentation">
        <div style={{ height: `${sight.above}px` }} />
        {rows.slice(sight.first, sight.end).map((at, i) => (
          <div
            key={keys[sight.first + i]}
            data-key={keys[sight.first + i]}
            role="presentation"
            class="tiles"
            style={{ gridTemplateColumns: `repeat(${columns}, minmax(0, 1fr))` }}
          >
            {nodes.slice(at, at + columns).map(props.children)}
          </div>
        ))}
        <div style={{ height: `${sight.below}px` }} />
      </div>
    </div>
  );
}

const GANGS: readonly Column<Gang>[] = [
  { title: "GPUs of each pod", shape: "head", cell: (gang) => number(gang.perPod) },
  { title: "Pods", shape: "number", cell: (gang) => number(gang.pods) },
  { title: "On nodes", shape: "number", cell: (gang) => number(gang.nodes) },
];

function byNode(jobs: readonly JobEntry[]): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, string[]>();
  for (const job of jobs) {
    for (const node of job.nodes) {
      const keys = found.get(node);
      if (keys) keys.push(keyOf(job));
      else found.set(node, [keyOf(job)]);
    }
  }
  return found;
}

function Tile(props: {
  node: NodeEntry;
  resource: string;
  jobs: readonly string[];
  namespace: string;
  lit: string;
  light: (job: string) => void;
}): JSX.Element {
  const { node, resource, jobs, lit, light } = props;
  const stranded = strandedBecause(node);
  const classes = ["tile", stranded && "off", lit && jobs.includes(lit) && "lit"].filter(Boolean).join(" ");
  return (
    <div role="listitem" class={classes}>
      <strong>{node.name}</strong>
      <Amount node={node} resource={resource} stranded={stranded} />
      <span class="note">
        {amount(resource, free(node, resource))} {resourceName(resource)} free
        {resource !== "cpu" && `, ${amount("cpu", free(node, "cpu"))} CPU`}
        {stranded && `; ${stranded}`}
        {node.seats > 0 && `; ${plural(node.seats, "pod")} planned`}
      </span>
      {jobs.length > 0 && (
        <span class="jobs">
          {jobs.slice(0, 4).map((job) => (
            <span
              key={job}
              class={job === lit ? "job lit" : "job"}
              onMouseEnter={() => light(job)}
              onMouseLeave={() => light("")}
              onFocusIn={() => light(job)}
              onFocusOut={() => light("")}
            >
              <JobLink job={job} namespace={props.namespace} />
            </span>
          ))}
          {jobs.length > 4 && <span class="note">and {jobs.length - 4} more</span>}
        </span>
      )}
    </div>
  );
}

/** A square for each piece; a bar where there are many, or parts of one. */
function Amount(props: { node: NodeEntry; resource: string; stranded: string }): JSX.Element {
  const { node, resource, stranded } = props;
  const total = node.allocatable[resource] ?? 0;
  const used = Math.min(total, node.used[resource] ?? 0);
  const rest = stranded ? "stranded" : "free";
  const label = `${amount(resource, used)} of ${amount(resource, total)} ${resourceName(resource)} used`;
  if (resource === "cpu" || total > MOST_SQUARES) {
    const part = total ? used / total : 0;
    return (
      <span class="done">
        <Bar label={label} total={1} parts={[{ kind: "used", value: part }, { kind: rest, value: 1 - part }]} />
        {percent(part)}
      </span>
    );
  }
  return (
    <svg class="squares" viewBox={`0 0 ${Math.max(1, total) * 12} 12`} role="img" aria-label={label}>
      {Array.from({ length: total }, (_, i) => (
        <rect class={i < used ? "used" : rest} x={i * 12 + 1} y={1} width={10} height={10} rx={2} />
      ))}
    </svg>
  );
}
