// The map: nodes as tiles, by rack where nodes say theirs, with a square for each GPU in the colour of its job.
import type { JSX, RefObject } from "preact";
import { useMemo, useRef } from "preact/hooks";
import type { JobEntry, NodeEntry } from "./api";
import { free, strandedBecause } from "./capacity";
import { amount, figure, percent, plural } from "./format";
import { Bar, JobLink } from "./parts";
import { keyOf } from "./queue";
import { useColumns, useDrawn, useSight } from "./window";

const MOST_SQUARES = 16;
const TILE_WIDTH = 208;
const TILE_GAP = 9;
const TILE_HEIGHT = 110;
const COLOURS = 8;

/** A job on a node. */
export interface Held {
  readonly job: string;
  /** Of the resource that is drawn. */
  readonly amount: number;
  /** No pod of it is bound yet, or it is only supposed. */
  readonly planned: boolean;
}

/** The levels of the topology that nodes name, from the coarsest to the finest. */
export function levels(nodes: readonly NodeEntry[]): readonly string[] {
  const found = new Set<string>();
  for (const node of nodes) for (const level in node.domains) found.add(level);
  return [...found];
}

/** The finest level that nodes name; empty without one. */
export function finest(nodes: readonly NodeEntry[]): string {
  const known = levels(nodes);
  return known[known.length - 1] ?? "";
}

/** Jobs of which every pod has ended: they name their nodes, and hold nothing there. */
const ENDED: ReadonlySet<string> = new Set(["done", "failed"]);

/** The jobs that hold something on each node. */
export function heldByNode(jobs: readonly JobEntry[], resource: string): ReadonlyMap<string, readonly Held[]> {
  const found = new Map<string, Held[]>();
  for (const job of jobs) {
    if (ENDED.has(job.state)) continue;
    const planned = job.counts.bound === 0;
    for (const node of job.nodes) {
      const held = { job: keyOf(job), amount: job.devices[node]?.[resource] ?? 0, planned };
      const others = found.get(node);
      if (others) others.push(held);
      else found.set(node, [held]);
    }
  }
  return found;
}

interface Row {
  readonly key: string;
  readonly title: string;
  readonly nodes: readonly NodeEntry[];
}

/** A tile, and what it shows beside its node: the jobs there, and the one that is lit. */
interface Drawn {
  readonly node: NodeEntry;
  readonly shows: string;
  readonly element: JSX.Element;
}

/** Nodes as tiles in rows; with a level, those of each domain below its name. */
export function NodeMap(props: {
  nodes: readonly NodeEntry[];
  held: ReadonlyMap<string, readonly Held[]>;
  resource: string;
  level: string;
  namespace: string;
  lit: string;
  light: (job: string) => void;
}): JSX.Element {
  const { nodes, resource } = props;
  const frame = useRef<HTMLDivElement>(null);
  const columns = useColumns(frame, TILE_WIDTH, TILE_GAP);
  const { level } = props;
  const rows = useMemo(() => rowsOf(nodes, level, columns, resource), [nodes, level, columns, resource]);
  const keys = useMemo(() => rows.map((row) => row.key), [rows]);
  const sight = useSight(keys, TILE_HEIGHT);
  const tiles = useMemo(() => new Map<string, Drawn>(), [resource, props.namespace]);
  /** The tile of a node; the same element again while it shows the same, so that it is not drawn anew. */
  const tile = (node: NodeEntry): JSX.Element => {
    const held = props.held.get(node.name) ?? [];
    const lit = held.some((one) => one.job === props.lit) ? props.lit : "";
    const shows = `${lit} ${held.map((one) => `${one.job} ${one.amount} ${one.planned}`).join()}`;
    const known = tiles.get(node.name);
    if (known?.node === node && known.shows === shows) return known.element;
    const element = <Tile {...props} key={node.name} node={node} held={held} lit={lit} />;
    tiles.set(node.name, { node, shows, element });
    return element;
  };
  const drawn = useDrawn([rows, props.held, props.lit, props.namespace, columns], (at) => {
    const row = rows[at]!;
    return (
      <div
        key={row.key}
        data-key={row.key}
        role="presentation"
        class="tiles"
        style={{ gridTemplateColumns: `repeat(${columns}, minmax(0, 1fr))` }}
      >
        {row.title && <strong class="domain">{row.title}</strong>}
        {row.nodes.map(tile)}
      </div>
    );
  });
  return (
    <div ref={frame} role="list" aria-label={plural(nodes.length, "node")}>
      <div ref={sight.ref as RefObject<HTMLDivElement | null>} role="presentation">
        <div style={{ height: `${sight.above}px` }} />
        {drawn(sight)}
        <div style={{ height: `${sight.below}px` }} />
      </div>
    </div>
  );
}

export function Legend(props: { resource: string }): JSX.Element {
  return (
    <p class="legend">
      <span class="used">{props.resource === "cpu" ? "used" : "used; each job has a colour"}</span>{" "}
      {props.resource !== "cpu" && <span class="planned">planned</span>}{" "}
      <span class="free">free</span> <span class="stranded">stranded: free, but no pod can have it</span>
    </p>
  );
}

function rowsOf(nodes: readonly NodeEntry[], level: string, columns: number, resource: string): readonly Row[] {
  const groups = new Map<string, NodeEntry[]>();
  for (const node of nodes) {
    const domain = (level && node.domains[level]) ?? "";
    const others = groups.get(domain);
    if (others) others.push(node);
    else groups.set(domain, [node]);
  }
  return [...groups].sort(byDomain).flatMap(([domain, members]) => {
    const title = level ? `${domain ? `${level} ${domain}` : `without a ${level}`}: ${room(members, resource)}` : "";
    const starts = Array.from({ length: Math.ceil(members.length / columns) }, (_, i) => i * columns);
    return starts.map((at) => ({
      key: `${columns} from ${members[at]!.name}`,
      title: at ? "" : title,
      nodes: members.slice(at, at + columns),
    }));
  });
}

const NAMES = new Intl.Collator("en", { numeric: true });

/** By name; nodes without a domain last. */
function byDomain(a: readonly [string, unknown], b: readonly [string, unknown]): number {
  if (!a[0] || !b[0]) return a[0] ? -1 : 1;
  return NAMES.compare(a[0], b[0]);
}

function room(nodes: readonly NodeEntry[], resource: string): string {
  let [left, total] = [0, 0];
  for (const node of nodes) {
    total += node.allocatable[resource] ?? 0;
    if (!strandedBecause(node)) left += free(node, resource);
  }
  return `${figure(resource, left)} of ${amount(resource, total)} free`;
}

function Tile(props: {
  node: NodeEntry;
  resource: string;
  held: readonly Held[];
  namespace: string;
  lit: string;
  light: (job: string) => void;
}): JSX.Element {
  const { node, resource, held, lit, light } = props;
  const stranded = strandedBecause(node);
  const isLit = lit && held.some((one) => one.job === lit);
  return (
    <div role="listitem" class={["tile", stranded && "off", isLit && "lit"].filter(Boolean).join(" ")}>
      <strong>{node.name}</strong>
      <Amount node={node} resource={resource} stranded={stranded} held={held} lit={lit} />
      <span class="note">
        {amount(resource, free(node, resource))} free
        {resource !== "cpu" && `, ${amount("cpu", free(node, "cpu"))}`}
        {stranded && `; ${stranded}`}
        {node.seats > 0 && `; ${plural(node.seats, "pod")} planned`}
      </span>
      {held.length > 0 && (
        <span class="jobs">
          {held.slice(0, 4).map((one) => (
            <span
              key={one.job}
              class={one.job === lit ? "job lit" : "job"}
              onMouseEnter={() => light(one.job)}
              onMouseLeave={() => light("")}
              onFocusIn={() => light(one.job)}
              onFocusOut={() => light("")}
            >
              {one.amount > 0 && <Square held={one} />}
              <JobLink job={one.job} namespace={props.namespace} />
            </span>
          ))}
          {held.length > 4 && <span class="note">and {held.length - 4} more</span>}
        </span>
      )}
    </div>
  );
}

/** The square beside a job's name: the colour of its GPUs. */
function Square(props: { held: Held }): JSX.Element {
  return <span class={`key ${colour(props.held)}`} aria-hidden="true" />;
}

/** A square for each piece; a bar where there are many, or parts of one. */
function Amount(props: {
  node: NodeEntry;
  resource: string;
  stranded: string;
  held: readonly Held[];
  lit: string;
}): JSX.Element {
  const { node, resource, stranded } = props;
  const total = node.allocatable[resource] ?? 0;
  const used = Math.min(total, node.used[resource] ?? 0);
  const rest = stranded ? "stranded" : "free";
  const label = `${figure(resource, used)} of ${amount(resource, total)} used`;
  if (resource === "cpu" || total > MOST_SQUARES) {
    const part = total ? used / total : 0;
    return (
      <span class="done">
        <Bar label={label} total={1} parts={[{ kind: "used", value: part }, { kind: rest, value: 1 - part }]} />
        {percent(part)}
      </span>
    );
  }
  const owned = props.held.flatMap((one) => Array.from({ length: one.amount }, () => one));
  const classes = Array.from({ length: total }, (_, i) => {
    if (i >= used) return rest;
    const one = owned[i];
    if (!one) return "used";
    return one.job === props.lit ? `${colour(one)} lit` : colour(one);
  });
  return (
    <svg class="squares" viewBox={`0 0 ${Math.max(1, total) * STEP} ${STEP}`} role="img" aria-label={label}>
      {runs(classes).map((run) => (
        <path class={run.kind} data-pieces={run.count} d={squares(run.from, run.count)} />
      ))}
    </svg>
  );
}

const STEP = 12;
const SQUARE = "h6a2 2 0 0 1 2 2v6a2 2 0 0 1-2 2h-6a2 2 0 0 1-2-2v-6a2 2 0 0 1 2-2z";

/** Squares in a row as one path: an element for each would be most of what scrolling costs. */
function squares(from: number, count: number): string {
  return Array.from({ length: count }, (_, i) => `M${(from + i) * STEP + 3} 1${SQUARE}`).join("");
}

interface Run {
  readonly kind: string;
  readonly from: number;
  readonly count: number;
}

/** Neighbours that look the same. */
function runs(kinds: readonly string[]): readonly Run[] {
  const found: Run[] = [];
  for (const [at, kind] of kinds.entries()) {
    const last = found[found.length - 1];
    if (last?.kind === kind) found[found.length - 1] = { ...last, count: last.count + 1 };
    else found.push({ kind, from: at, count: 1 });
  }
  return found;
}

const numbers = new Map<string, number>();

/** A colour that a job keeps while the page is open; planned squares are outlined. */
function colour(held: Held): string {
  const number = numbers.get(held.job) ?? numbers.size;
  numbers.set(held.job, number);
  return `of-${number % COLOURS}${held.planned ? " planned" : ""}`;
}
