// What was changed: moves of jobs, parkings, changes of workers, and why other jobs stayed as they are.
import type { JSX } from "preact";
import type {
  Declined,
  MigrationEntry,
  MigrationsResponse,
  ParkingEntry,
  ParkingsResponse,
  RescaleEntry,
  RescalesResponse,
} from "./api";
import { clock, duration, number, sentence } from "./format";
import { type Column, JobLink, Quiet, Section, Table } from "./parts";
import { keyOf, Reason } from "./queue";

export function Ledgers(props: {
  migrations: MigrationsResponse | null;
  rescales: RescalesResponse | null;
  parkings: ParkingsResponse | null;
  namespace: string;
  now: number;
}): JSX.Element {
  const { namespace, now } = props;
  const ours = <Entry extends { namespace: string }>(entries: readonly Entry[]): readonly Entry[] =>
    entries.filter((entry) => !namespace || entry.namespace === namespace).slice().reverse();
  const moves = ours(props.migrations?.entries ?? []);
  const changes = ours(props.rescales?.entries ?? []);
  const parkings = ours(props.parkings?.entries ?? []);
  const declined = [props.migrations, props.rescales, props.parkings]
    .flatMap((ledger) => ledger?.declined ?? [])
    .filter((one) => !namespace || one.job.startsWith(`${namespace}/`));
  return (
    <>
      <Section title="Moves" note="newest first">
        {moves.length ? (
          <Table caption="Moved jobs" columns={moved(namespace, now)} rows={moves} id={(move) => `${move.namespace}/${move.name}`} />
        ) : (
          <Quiet>No job was moved.</Quiet>
        )}
      </Section>
      <Section title="Parkings" note="newest first">
        {parkings.length ? <Parkings entries={parkings} namespace={namespace} now={now} /> : <Quiet>No job was parked.</Quiet>}
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

/** Parkings with what they cost; those of one job on its own page, without its name. */
export function Parkings(props: {
  entries: readonly ParkingEntry[];
  namespace: string;
  now: number;
  ofJob?: boolean;
}): JSX.Element {
  const { namespace, now } = props;
  const columns = parked(namespace, now).filter((column) => !props.ofJob || column.title !== "Job");
  return <Table caption="Parked jobs, and what that cost" columns={columns} rows={props.entries} id={(one) => one.id} />;
}

function parked(namespace: string, now: number): readonly Column<ParkingEntry>[] {
  return [
    { title: "Began", cell: (one) => clock(one.begun_at, now) },
    { title: "Job", shape: "head", cell: (one) => <JobLink job={keyOf(one)} namespace={namespace} /> },
    { title: "Cause", cell: (one) => one.cause },
    { title: "Room for", cell: (one) => (one.starts ? <JobLink job={one.starts} namespace={namespace} /> : "–") },
    { title: "Phase", cell: (one) => one.phase },
    { title: "Saved", shape: "number", cell: (one) => known(one.save_seconds) },
    { title: "Waited", shape: "number", cell: (one) => known(one.waited_seconds) },
    { title: "Restarted", shape: "number", cell: (one) => known(one.restart_seconds) },
    { title: "Steps lost", shape: "number", cell: (one) => (one.lost_steps === null ? "–" : number(one.lost_steps)) },
    { title: "Why", shape: "wide", cell: (one) => sentence(one.message || one.reason) },
  ];
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
