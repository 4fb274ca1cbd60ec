// The nodes as a map, and how large a gang would fit now.
import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import type { GpuHealth, JobEntry, NodeEntry } from "./api";
import { type Gang, largestGangs, scarce } from "./capacity";
import { number, plural, several } from "./format";
import { heldByNode, Legend, levels, NodeMap } from "./map";
import { type Column, Quiet, Section, Table } from "./parts";

export function Nodes(props: {
  nodes: readonly NodeEntry[];
  jobs: readonly JobEntry[];
  namespace: string;
}): JSX.Element {
  const [lit, setLit] = useState("");
  const [chosen, setChosen] = useState<string | null>(null);
  const { nodes, jobs } = props;
  const resource = useMemo(() => scarce(nodes), [nodes]);
  const known = useMemo(() => levels(nodes), [nodes]);
  const level = chosen ?? known[known.length - 1] ?? "";
  const held = useMemo(() => heldByNode(jobs, resource), [jobs, resource]);
  const fitting = useMemo(() => largestGangs(nodes, resource, level), [nodes, resource, level]);
  const faulty = useMemo(() => nodes.filter((node) => faults(node.agent?.gpus)), [nodes]);
  if (!props.nodes.length) return <Quiet>There are no nodes.</Quiet>;
  return (
    <>
      <Section title="Map" note={`${several(resource)} of each node; a job under the pointer lights all its nodes`}>
        {known.length > 0 && <Levels known={known} level={level} choose={setChosen} />}
        <NodeMap
          nodes={nodes}
          held={held}
          resource={resource}
          level={level}
          namespace={props.namespace}
          lit={lit}
          light={setLit}
        />
        <Legend resource={resource} />
      </Section>
      {faulty.length > 0 && (
        <Section title="GPUs with faults" note="as the nodes' agents read them; no decision depends on it">
          <Table caption="Nodes with faults of GPUs" columns={FAULTS} rows={faulty} id={(node) => node.name} />
        </Section>
      )}
      {resource !== "cpu" && (
        <Section title="What would fit now" note="by GPUs alone; other resources and rules may allow less">
          <Table
            caption="The largest gang by GPUs of each pod"
            columns={gangs(level)}
            rows={fitting}
            id={(gang) => String(gang.perPod)}
          />
        </Section>
      )}
    </>
  );
}

const FAULTS: readonly Column<NodeEntry>[] = [
  { title: "Node", shape: "head", cell: (node) => node.name },
  { title: "Faults", cell: (node) => faults(node.agent?.gpus) },
];

/** What is wrong with GPUs, in the words of the command line; empty if nothing is. */
function faults(gpus: GpuHealth | null | undefined): string {
  if (!gpus) return "";
  const found: readonly (readonly [number, string])[] = [
    [gpus.lost, `${gpus.lost} of ${gpus.devices} lost`],
    [gpus.uncorrected_errors ?? 0, plural(gpus.uncorrected_errors ?? 0, "uncorrected error")],
    [gpus.pending_remaps, `${gpus.pending_remaps} to be reset`],
    [gpus.failed_remaps, `${gpus.failed_remaps} to be replaced`],
  ];
  return found
    .filter(([count]) => count > 0)
    .map(([, words]) => words)
    .join(", ");
}

function Levels(props: {
  known: readonly string[];
  level: string;
  choose: (level: string) => void;
}): JSX.Element {
  return (
    <label class="note">
      Group by{" "}
      <select value={props.level} onChange={(event) => props.choose(event.currentTarget.value)}>
        {props.known.map((name) => (
          <option value={name}>{name}</option>
        ))}
        <option value="">name</option>
      </select>
    </label>
  );
}

function gangs(level: string): readonly Column<Gang>[] {
  const within: Column<Gang> = {
    title: `In one ${level}`,
    shape: "number",
    cell: (gang) => number(gang.inOneDomain),
  };
  return [
    { title: "GPUs of each pod", shape: "head", cell: (gang) => plural(gang.perPod, "GPU") },
    { title: "Pods", shape: "number", cell: (gang) => number(gang.pods) },
    ...(level ? [within] : []),
    { title: "On nodes", shape: "number", cell: (gang) => number(gang.nodes) },
  ];
}
