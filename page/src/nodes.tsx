// The nodes as a map, and how large a gang would fit now.
import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import type { JobEntry, NodeEntry } from "./api";
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
