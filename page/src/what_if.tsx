// What if a job were submitted now: its start and its nodes, drawn, and the jobs that it would delay.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { JobEntry, NodeEntry, Shift, WhatIfResponse } from "./api";
import { scarce } from "./capacity";
import { between, coming, number, plural, rough, sentence, several } from "./format";
import { Gantt, type Line } from "./gantt";
import { type Fields, FIELDS, question, written } from "./manifest";
import { finest, type Held, heldByNode, Legend, NodeMap } from "./map";
import { type Column, JobLink, Problem, Section, Table } from "./parts";
import { ask, failure, UNAUTHORIZED } from "./reading";
import { runs } from "./timeline";
import { TokenForm } from "./token";
import { Changes, Matrices } from "./why";

const MOST_RUNNING = 12;

/** What was written and answered; it stays while other views are shown. */
interface Draft {
  readonly fields: Fields;
  /** The text, once it was changed by hand. */
  readonly text: string | null;
  readonly answer: WhatIfResponse | null;
  readonly problem: string;
  /** HTTP status of the problem; 0 without an answer. */
  readonly status: number;
}
const NOTHING = { answer: null, problem: "", status: 0 } as const;
let kept: Draft = { fields: FIELDS, text: null, ...NOTHING };

interface Seen {
  readonly jobs: readonly JobEntry[];
  readonly nodes: readonly NodeEntry[];
  readonly namespace: string;
  readonly now: number;
}

export function WhatIf(props: Seen & { teams: readonly string[] }): JSX.Element {
  const [draft, setDraft] = useState(kept);
  const [asking, setAsking] = useState(false);
  const change = (changes: Partial<Draft>): void => {
    kept = { ...kept, ...changes };
    setDraft(kept);
  };
  const gpu = scarce(props.nodes);
  const resource = gpu === "cpu" ? "nvidia.com/gpu" : gpu;
  const namespace = draft.fields.namespace || props.namespace || props.teams[0] || "default";
  const text = draft.text ?? written({ ...draft.fields, namespace }, resource);
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    const asked = question(text);
    if ("problem" in asked) return change({ ...NOTHING, problem: asked.problem });
    setAsking(true);
    try {
      const answer = await ask<WhatIfResponse>("what-if", { namespace }, AbortSignal.timeout(60_000), asked.body);
      change({ ...NOTHING, answer });
    } catch (error) {
      change({ ...NOTHING, ...failure(error) });
    }
    setAsking(false);
  };
  return (
    <>
      <Section title="What if" note="a job were submitted now; nothing is written">
        <form class="what-if" onSubmit={submit}>
          <Inputs
            fields={{ ...draft.fields, namespace }}
            disabled={draft.text !== null}
            change={(fields) => change({ fields })}
          />
          <label>
            Manifest, in YAML or JSON
            <textarea
              rows={14}
              spellcheck={false}
              value={text}
              onInput={(event) => change({ text: event.currentTarget.value })}
            />
          </label>
          <p>
            <button type="submit" disabled={asking}>
              {asking ? "Asking…" : "What if?"}
            </button>{" "}
            {draft.text !== null && (
              <button type="button" onClick={() => change({ text: null })}>
                From the fields again
              </button>
            )}
          </p>
        </form>
      </Section>
      {draft.problem && <Problem>{draft.problem}</Problem>}
      {draft.status === UNAUTHORIZED && <TokenForm />}
      {draft.answer && <Answer {...props} answer={draft.answer} resource={gpu} />}
    </>
  );
}

const TITLES: Readonly<Record<keyof Fields, string>> = {
  namespace: "Team",
  pods: "Pods",
  gpus: "GPUs of each",
  cpu: "CPUs of each",
  memory: "Memory of each",
  duration: "Runs for",
};

function Inputs(props: { fields: Fields; disabled: boolean; change: (fields: Fields) => void }): JSX.Element {
  return (
    <fieldset disabled={props.disabled}>
      <legend class="unseen">The job</legend>
      {(Object.keys(TITLES) as (keyof Fields)[]).map((name) => (
        <label>
          {TITLES[name]}
          <input
            size={8}
            inputMode={name === "pods" || name === "gpus" ? "numeric" : "text"}
            value={props.fields[name]}
            onInput={(event) => props.change({ ...props.fields, [name]: event.currentTarget.value })}
          />
        </label>
      ))}
    </fieldset>
  );
}

function Answer(props: Seen & { answer: WhatIfResponse; resource: string }): JSX.Element {
  const { answer, nodes, namespace, now } = props;
  const { obstacles } = answer;
  return (
    <>
      <Section title={`${answer.job.split("/")[2] ?? answer.job} ${starts(answer, now)}`}>
        <p class="lead">{answer.starts_now ? places(answer) : sentence(answer.entry.message || answer.entry.reason)}</p>
        <dl class="facts">
          <Fact name="Place">
            {answer.entry.position === null
              ? "none: it needs a change"
              : `${number(answer.entry.position)} of ${number(answer.waiting + 1)}`}
          </Fact>
          <Fact name="Pods">{number(answer.pods)}</Fact>
          {answer.bill && (
            <Fact name="Price" title="What its places are worth now; 1 is the largest node while it is idle">
              {price(answer.bill)}
            </Fact>
          )}
          <Fact name="Checked">{checked(answer)}</Fact>
        </dl>
        {answer.notes.map((note) => (
          <p class="note">{sentence(note)}.</p>
        ))}
      </Section>
      <Drawn {...props} />
      {obstacles && <Changes changes={obstacles.changes} absent={answer.job} />}
      {obstacles && <Matrices tried={obstacles.tried} nodes={nodes} />}
      <Delayed shifts={answer.shifts} namespace={namespace} now={now} />
    </>
  );
}

function Fact(props: { name: string; children: string; title?: string }): JSX.Element {
  return (
    <div title={props.title}>
      <dt>{props.name}</dt>
      <dd>{props.children}</dd>
    </div>
  );
}

function starts(answer: WhatIfResponse, now: number): string {
  const at = answer.entry.estimated_start;
  if (answer.starts_now) return "would start now";
  return at === null ? "would wait; its start is unknown" : `would start ${coming(at, now)}${between(answer.entry.earliest_start, answer.entry.latest_start, now)}`;
}

function places(answer: WhatIfResponse): string {
  const count = Object.keys(answer.by_node).length;
  const elsewhere = answer.places.length === answer.pods ? "" : `; ${number(answer.places.length)} of its pods`;
  return count ? `On ${plural(count, "node")}${elsewhere}.` : "Kube-scheduler chooses its nodes.";
}

/** In prices of the largest node while it is idle. */
function price(bill: NonNullable<WhatIfResponse["bill"]>): string {
  if (bill.now === null) return `${idleNodes(bill.idle)} in an idle cluster`;
  return `${idleNodes(bill.now)}; ${idleNodes(bill.idle)} in an idle cluster`;
}

function idleNodes(worth: number): string {
  return plural(Number(worth.toFixed(2)), "idle node");
}

function checked(answer: WhatIfResponse): string {
  if (answer.checked?.by_api_server) return "by the API server, in a dry run";
  return answer.checked?.reason ? `not by the API server: ${answer.checked.reason}` : "not by the API server";
}

/** The answer on the map and in time. */
function Drawn(props: Seen & { answer: WhatIfResponse; resource: string }): JSX.Element {
  const [lit, setLit] = useState("");
  const { answer, resource, now } = props;
  const taken = answer.by_node;
  const there = props.nodes.filter((node) => node.name in taken).map((node) => withTaken(node, taken[node.name] ?? {}));
  const held = new Map(heldByNode(props.jobs, resource));
  for (const node of there) {
    const added: Held = { job: answer.job, amount: taken[node.name]?.[resource] ?? 0, planned: true };
    held.set(node.name, [...(held.get(node.name) ?? []), added]);
  }
  const lines = linesOf(answer, props.jobs, now);
  return (
    <>
      {there.length > 0 && (
        <Section title="Its nodes" note={`${several(resource)} with the job; outlined: what it would take`}>
          <NodeMap
            nodes={there}
            held={held}
            resource={resource}
            level={finest(there)}
            namespace={props.namespace}
            lit={lit}
            light={setLit}
          />
          <Legend resource={resource} />
        </Section>
      )}
      {lines.length > 0 && (
        <Section title="In time">
          <Gantt lines={lines} namespace={props.namespace} now={now} />
        </Section>
      )}
    </>
  );
}

function withTaken(node: NodeEntry, taken: Readonly<Record<string, number>>): NodeEntry {
  const used = { ...node.used };
  for (const [resource, amount] of Object.entries(taken)) used[resource] = (used[resource] ?? 0) + amount;
  return { ...node, used };
}

/** The job, those that it delays, and those that end before it starts. */
function linesOf(answer: WhatIfResponse, jobs: readonly JobEntry[], now: number): readonly Line[] {
  const at = answer.starts_now ? now : answer.entry.estimated_start;
  if (at === null) return [];
  const from = Math.max(0, at - now);
  const says = (): string => `The new job starts ${coming(at, now)}.`;
  const own: Line = { key: answer.job, kind: "supposed", from, to: null, band: null, before: null, says };
  const delayed = answer.shifts.flatMap((shift) => (shift.start_with === null ? [] : [delay(shift, shift.start_with, now)]));
  const ends = jobs.filter((job) => job.counts.bound > 0).map((job) => runs(job, now));
  const first = ends.filter((line) => line.to !== null && line.to <= from).sort((a, b) => (a.to ?? 0) - (b.to ?? 0));
  return [...first.slice(0, MOST_RUNNING), own, ...delayed];
}

function delay(shift: Shift, at: number, now: number): Line {
  const from = Math.max(0, at - now);
  const before = shift.start_without === null ? null : Math.max(0, shift.start_without - now);
  const says = (): string => `Starts ${coming(at, now)}, ${later(shift)}.`;
  return { key: shift.job, kind: "starts", from, to: null, band: null, before, says };
}

function later(shift: Shift): string {
  if (shift.later_seconds === null) return "perhaps later";
  return shift.later_seconds < 0 ? `${rough(-shift.later_seconds)} earlier` : `${rough(shift.later_seconds)} later`;
}

function Delayed(props: { shifts: readonly Shift[]; namespace: string; now: number }): JSX.Element {
  const { shifts, namespace, now } = props;
  const at = (start: number | null): string => (start === null ? "unknown" : coming(start, now));
  const columns: readonly Column<Shift>[] = [
    { title: "Job", shape: "head", cell: (shift) => <JobLink job={shift.job} namespace={namespace} /> },
    { title: "Team", cell: (shift) => shift.job.split("/")[0] ?? "" },
    { title: "Starts", shape: "number", cell: (shift) => at(shift.start_without) },
    { title: "With it", shape: "number", cell: (shift) => at(shift.start_with) },
    { title: "Later", shape: "number", cell: later },
  ];
  return (
    <Section title="Other waiting jobs" note="running jobs stay">
      {shifts.length ? (
        <Table caption="Jobs that would start later or earlier" columns={columns} rows={shifts} id={(shift) => shift.job} />
      ) : (
        <p>No other waiting job would start earlier or later.</p>
      )}
    </Section>
  );
}
