// What nodes have: totals, free and stranded amounts, and how large a gang would fit (pure).
import type { NodeEntry } from "./api";
import { isGpu } from "./format";

export interface Capacity {
  /** The resource that is counted: the GPUs of the cluster, or its CPU. */
  readonly resource: string;
  readonly total: number;
  readonly used: number;
  readonly free: number;
  /** Free, but no pod can have it: the node is out of CPU, memory or pods, or takes no pods. */
  readonly stranded: number;
}

const BASICS = ["cpu", "memory", "pods"] as const;
const LEFT_NOTHING = { cpu: "no CPU left", memory: "no memory left", pods: "no room for another pod" } as const;
/** Less than this part of a node's CPU, memory or pods is taken for nothing. */
const LEAST_PART = 0.01;

/** What is found out once of each entry: an entry that changes is another object. */
interface Facts {
  readonly gpus: readonly (readonly [string, number])[];
  readonly stranded: string;
}
const known = new WeakMap<NodeEntry, Facts>();

function factsOf(node: NodeEntry): Facts {
  const before = known.get(node);
  if (before) return before;
  const gpus = Object.entries(node.allocatable).filter(([resource, amount]) => amount > 0 && isGpu(resource));
  const facts = { gpus, stranded: whyStranded(node) };
  known.set(node, facts);
  return facts;
}

/** The GPU resource that most nodes have; "cpu" if none has GPUs. */
export function scarce(nodes: readonly NodeEntry[]): string {
  const counts = new Map<string, number>();
  for (const node of nodes) {
    for (const [resource, amount] of factsOf(node).gpus) counts.set(resource, (counts.get(resource) ?? 0) + amount);
  }
  const [most] = [...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
  return most ? most[0] : "cpu";
}

export function free(node: NodeEntry, resource: string): number {
  return Math.max(0, (node.allocatable[resource] ?? 0) - (node.used[resource] ?? 0));
}

/** Why the free amount of a node cannot be used; empty if it can. */
export function strandedBecause(node: NodeEntry): string {
  return factsOf(node).stranded;
}

function whyStranded(node: NodeEntry): string {
  if (!node.ready) return "the node is not ready";
  if (node.unschedulable) return "the node is cordoned";
  for (const resource of BASICS) {
    const total = node.allocatable[resource];
    if (total !== undefined && free(node, resource) < LEAST_PART * total) return LEFT_NOTHING[resource];
  }
  return "";
}

export function capacity(nodes: readonly NodeEntry[], resource: string): Capacity {
  let [total, used, stranded] = [0, 0, 0];
  for (const node of nodes) {
    total += node.allocatable[resource] ?? 0;
    used += node.used[resource] ?? 0;
    if (strandedBecause(node)) stranded += free(node, resource);
  }
  return { resource, total, used, free: Math.max(0, total - used), stranded };
}

export interface Gang {
  readonly perPod: number;
  readonly pods: number;
  readonly nodes: number;
  /** As many of the pods as would fit in the one domain of the level with most room. */
  readonly inOneDomain: number;
}

/** How many pods with 1, 2, 4, … GPUs each would find a place now, counting GPUs alone. */
export function largestGangs(nodes: readonly NodeEntry[], resource: string, level: string): readonly Gang[] {
  const able = nodes.filter((node) => !strandedBecause(node));
  const largest = Math.max(0, ...nodes.map((node) => node.allocatable[resource] ?? 0));
  const gangs: Gang[] = [];
  for (let perPod = 1; perPod <= largest; perPod *= 2) {
    let [pods, used] = [0, 0];
    const domains = new Map<string, number>();
    for (const node of able) {
      const here = Math.floor(free(node, resource) / perPod);
      if (!here) continue;
      pods += here;
      used += 1;
      const domain = node.domains[level];
      if (domain !== undefined) domains.set(domain, (domains.get(domain) ?? 0) + here);
    }
    gangs.push({ perPod, pods, nodes: used, inOneDomain: Math.max(0, ...domains.values()) });
  }
  return gangs;
}
