// What each namespace holds, beside its share.
import type { JSX } from "preact";
import type { NamespaceEntry, NamespacesResponse } from "./api";
import { amount, isGpu, number, percent, plural } from "./format";
import { Bar, type Column, Quiet, Section, Table } from "./parts";
import { address } from "./route";

export function Teams(props: { answer: NamespacesResponse }): JSX.Element {
  const { answer } = props;
  const { others } = answer;
  const columns = answer.entries.some((entry) => entry.problem) ? [...COLUMNS, PROBLEM] : COLUMNS;
  return (
    <Section title="Teams" note={answer.fair_share ? "" : "Fair share is off: shares decide nothing and are only shown."}>
      {answer.entries.length ? (
        <Table caption="What each team holds" columns={columns} rows={answer.entries} id={(entry) => entry.namespace} />
      ) : (
        <Quiet>No team has jobs.</Quiet>
      )}
      {others && others.namespaces > 0 && (
        <Quiet>
          {plural(others.namespaces, "other team")}: {plural(others.waiting, "job")} waiting, {number(others.running)}{" "}
          running; {held(others)} held.
        </Quiet>
      )}
    </Section>
  );
}

const COLUMNS: readonly Column<NamespaceEntry>[] = [
  { title: "Team", shape: "head", cell: (entry) => <a href={address([], entry.namespace)}>{entry.namespace}</a> },
  { title: "Waiting", shape: "number", cell: (entry) => number(entry.waiting) },
  { title: "Running", shape: "number", cell: (entry) => number(entry.running) },
  { title: "Holds", cell: held },
  {
    title: "Share",
    cell: (entry) => (
      <span class="done">
        <Bar label={`${percent(entry.share)} of the cluster`} total={1} parts={[{ kind: "used", value: entry.share }]} />
        {percent(entry.share)}
      </span>
    ),
  },
  { title: "Weight", shape: "number", cell: (entry) => number(entry.weight) },
  { title: "Guaranteed", shape: "number", cell: (entry) => percent(entry.guaranteed_share) },
  { title: "Limit", shape: "number", cell: (entry) => (entry.limit === null ? "none" : percent(entry.limit)) },
];
const PROBLEM: Column<NamespaceEntry> = { title: "Problem", shape: "wide", cell: (entry) => entry.problem };

function held(entry: Pick<NamespaceEntry, "held">): string {
  const shown = Object.entries(entry.held).filter(([name]) => isGpu(name) || name === "cpu" || name === "memory");
  shown.sort(([a], [b]) => Number(isGpu(b)) - Number(isGpu(a))); // what is scarce first
  return shown.map(([name, value]) => amount(name, value)).join(", ") || "nothing";
}
