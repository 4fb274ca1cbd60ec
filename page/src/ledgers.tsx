// What was changed: moves of jobs, changes of workers, and why other jobs stayed as they are.
import type { JSX } from "preact";
import type { Declined, MigrationEntry, MigrationsResponse, RescaleEntry, RescalesResponse } from "./api";
import { clock, duration, number, sentence } from "./format";
import { type Column, JobLink, Quiet, Section, Table } from "./parts";
import { keyOf, Reason } from "./queue";

export function Ledgers(props: {
  migrations: MigrationsResponse | null;
  rescales: RescalesResponse | null;
  namespace: string;
  now: number;
}): JSX.Element {
  const { namespace, now } = props;
  const ours = <Entry extends { namespace: string }>(entries: readonly Entry[]): readonly Entry[] =>
    entries.filter((entry) => !namespace || entry.namespace === namespace).slice().reverse();
  const moves = ours(props.migrations?.entries ?? []);
  const changes = ours(props.rescales?.entries ?? []);
  const declined = [...(props.migrations?.declined ?? []), ...(props.rescales?.declined ?? [])].filter(
    (one) => !namespace || one.job.startsWith(`${namespace}/`),
  );
  return (
    <>
      <Section title="Moves" note="newest first">
        {moves.length ? (
          <Table caption="Moved jobs" columns={moved(namespace, now)} rows={moves} id={(move) => `${move.namespace}/${move.name}`} />
        ) : (
          <Quiet>No job was moved.</Quiet>
        )}
      </Section>
      <Section title="Changes of workers" note="newest first">
        {changes.length ? (
          <Table caption="Changes of workers" columns={rescaled(namespace, now)} rows={changes} id={(change) => `${keyOf(change)}/${change.id}`} />
        ) : (
          <Quiet>No job changed its workers.</Quiet>
        )}
      </Section>
      {declined.length > 0 && (
        <Section title="Left as they are">
          <Table caption="Jobs that were not changed, and why" columns={left(namespace)} rows={declined} id={(one) => `${one.job} ${one.reason}`} />
        </Section>
      )}
    </>
  );
}

function moved(namespace: string, now: number): readonly Column<MigrationEntry>[] {
  return [
    { title: "Began", cell: (move) => clock(move.created_at, now) },
    { title: "Job", shape: "head", cell: (move) => <JobLink job={keyOf(move)} namespace={namespace} /> },
    { title: "Pods", cell: (move) => move.members.map((pod) => `${pod.source} → ${pod.node || pod.target}`).slice(0, 3).join(", ") },
    { title: "Phase", cell: (move) => move.phase },
    { title: "Without training", shape: "number", cell: (move) => known(move.downtime_seconds) },
    { title: "Steps lost", shape: "number", cell: (move) => (move.lost_steps === null ? "–" : number(move.lost_steps)) },
    { title: "Why", shape: "wide", cell: (move) => sentence(move.message || move.why || move.trigger) },
  ];
}

function rescaled(namespace: string, now: number): readonly Column<RescaleEntry>[] {
  return [
    { title: "Began", cell: (change) => clock(change.begun_at, now) },
    { title: "Job", shape: "head", cell: (change) => <JobLink job={keyOf(change)} namespace={namespace} /> },
    { title: "Workers", cell: (change) => `${change.before} → ${change.to || "paused"}` },
    { title: "Phase", cell: (change) => change.phase },
    { title: "Room for", cell: (change) => (change.starts ? <JobLink job={change.starts} namespace={namespace} /> : "–") },
    { title: "Why", shape: "wide", cell: (change) => <Reason reason={change.cause} message={change.message} /> },
  ];
}

function left(namespace: string): readonly Column<Declined>[] {
  return [
    { title: "Job", shape: "head", cell: (one) => <JobLink job={one.job} namespace={namespace} /> },
    { title: "Why", shape: "wide", cell: (one) => <Reason reason={one.reason} message={one.message} /> },
  ];
}

function known(seconds: number | null): string {
  return seconds === null ? "–" : duration(seconds);
}
