// Why a job waits: a matrix of nodes and resources, and what would make the job run.
import type { JSX } from "preact";
import type { Change, ExplainResponse, NodeEntry, NodeGroup, Tried } from "./api";
import { free } from "./capacity";
import { commands } from "./commands";
import { amount, figure, number, plural, sentence, several } from "./format";
import { Copy, JobLink, Quiet, Section } from "./parts";

const MOST_NODES = 12;

export function Why(props: { answer: ExplainResponse; nodes: readonly NodeEntry[] }): JSX.Element {
  const { answer } = props;
  return (
    <>
      <Section title="Why it waits">
        <p class="lead">{sentence(answer.message || answer.reason)}</p>
        <p>{summary(answer)}</p>
      </Section>
      <Changes changes={answer.changes} />
      <Matrices tried={answer.tried} nodes={props.nodes} />
    </>
  );
}

/** Changes with their commands; without those on `absent`, a job that does not exist. */
export function Changes(props: { changes: readonly Change[]; absent?: string }): JSX.Element | null {
  if (!props.changes.length) return null;
  return (
    <Section title="What would make it run" note="Each alone is enough; tried on the cluster as it is.">
      <ol class="changes">
        {props.changes.map((change) => (
          <Fix change={change} absent={props.absent ?? ""} />
        ))}
      </ol>
    </Section>
  );
}

export function Matrices(props: { tried: readonly Tried[]; nodes: readonly NodeEntry[] }): JSX.Element {
  const known = new Map(props.nodes.map((node) => [node.name, node]));
  return (
    <>
      {props.tried.map((tried) => (
        <Matrix tried={tried} known={known} />
      ))}
    </>
  );
}

function summary(answer: ExplainResponse): string {
  const parts = [];
  if (answer.needs) parts.push(`It needs ${plural(answer.needs, "pod")} at once, and ${number(answer.fits)} would fit now.`);
  const short = Object.entries(answer.short).map(([name, value]) => amount(name, value));
  if (short.length) parts.push(`Missing: ${short.join(", ")}.`);
  if (answer.position !== null) parts.push(`It is number ${answer.position} in the queue.`);
  return parts.join(" ");
}

function Fix(props: { change: Change; absent: string }): JSX.Element {
  const { change } = props;
  const leaving = change.steps.filter((step) => step.cause);
  const lines = change.steps.some((step) => step.subject === props.absent) ? [] : commands(change);
  return (
    <li>
      {sentence(change.says)}.
      {leaving.length > 0 && (
        <ul class="note">
          {leaving.map((step) => (
            <li>
              <JobLink job={step.subject} namespace="" /> ({step.cause}
              {step.pod_seconds != null && `, ${number(Math.round(step.pod_seconds))} pod-seconds`})
            </li>
          ))}
        </ul>
      )}
      {lines.map((line) => (
        <Copy text={line} what={`does this: ${change.says}`} />
      ))}
    </li>
  );
}

function Matrix(props: { tried: Tried; known: ReadonlyMap<string, NodeEntry> }): JSX.Element {
  const { tried, known } = props;
  const resources = Object.keys(tried.requests).filter((name) => tried.requests[name]);
  const role = tried.role ? `${tried.role}: ` : "";
  return (
    <Section title={`Nodes for ${role}${plural(tried.pods, "pod")}`} note={`${number(tried.fits)} of them would fit`}>
      {tried.nodes.length === 0 && <Quiet>There are no nodes.</Quiet>}
      <div class="scroll" tabIndex={0} role="group" aria-label="Nodes and resources">
        <table class="matrix">
          <caption class="unseen">Free amounts of each node beside what one pod asks for</caption>
          <thead>
            <tr>
              <th scope="col">Node</th>
              {resources.map((name) => (
                <th scope="col" class="number">
                  {several(name)}
                  <span class="note"> needs {figure(name, tried.requests[name] ?? 0)}</span>
                </th>
              ))}
              <th scope="col">Verdict</th>
            </tr>
          </thead>
          <tbody>{tried.nodes.flatMap((group) => rows(group, tried, resources, known))}</tbody>
        </table>
      </div>
    </Section>
  );
}

function rows(
  group: NodeGroup,
  tried: Tried,
  resources: readonly string[],
  known: ReadonlyMap<string, NodeEntry>,
): readonly JSX.Element[] {
  const shown = group.nodes.slice(0, MOST_NODES).map((name) => (
    <tr key={name}>
      <th scope="row">{name}</th>
      {resources.map((resource) => (
        <Cell resource={resource} needs={tried.requests[resource] ?? 0} group={group} node={known.get(name)} />
      ))}
      <td class={group.fits ? "verdict good" : "verdict bad"}>{sentence(group.says)}</td>
    </tr>
  ));
  const hidden = group.nodes.length - shown.length;
  if (hidden <= 0) return shown;
  const more = (
    <tr key={`${group.says}-more`}>
      <th scope="row">{number(hidden)} more</th>
      <td colSpan={resources.length} />
      <td class={group.fits ? "verdict good" : "verdict bad"}>{sentence(group.says)}</td>
    </tr>
  );
  return [...shown, more];
}

/** Green: enough is free. Amber: enough if the node were empty. Red: the node is too small. */
function Cell(props: {
  resource: string;
  needs: number;
  group: NodeGroup;
  node: NodeEntry | undefined;
}): JSX.Element {
  const { resource, needs, group, node } = props;
  if (!node) {
    const lacks = group.causes.includes(resource);
    return <td class={lacks ? "number bad" : "number good"}>{lacks ? "short" : "enough"}</td>;
  }
  const left = free(node, resource);
  const whole = node.allocatable[resource] ?? 0;
  const [kind, word] = left >= needs ? ["good", "enough"] : whole >= needs ? ["short", "in use"] : ["bad", "too small"];
  return (
    <td class={`number ${kind}`}>
      {figure(resource, left)} <span class="note">of {figure(resource, whole)}, {word}</span>
    </td>
  );
}
