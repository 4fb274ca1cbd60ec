// The page of one job: why it waits, or how far it is.
import type { JSX } from "preact";
import type { ExplainResponse, JobEntry, MigrationEntry, NodeEntry, QueueEntry } from "./api";
import { between, clock, coming, duration, moment, number, plural, rough, sentence, span } from "./format";
import { Parkings } from "./ledgers";
import { Curve, Problem, Quiet, Section } from "./parts";
import type { Feed } from "./reading";
import { Done, ends, SOURCES, state } from "./running";
import { Why } from "./why";

export function JobPage(props: {
  parts: readonly string[];
  job: JobEntry | undefined;
  queued: QueueEntry | undefined;
  explained: Feed<ExplainResponse>;
  moves: readonly MigrationEntry[];
  nodes: readonly NodeEntry[];
  now: number;
}): JSX.Element {
  const [namespace = "", kind = "", name = ""] = props.parts;
  const { data: answer, problem } = props.explained;
  const { job, queued, now } = props;
  return (
    <>
      <h1>
        {name} <span class="note">{`${kind} in ${namespace}`}</span>
      </h1>
      {problem && !answer && <Problem>{problem}</Problem>}
      {!problem && !answer && !job && <Quiet>Reading…</Quiet>}
      <dl class="facts">
        {job && <JobFacts job={job} now={now} />}
        {queued && <QueueFacts entry={queued} now={now} />}
      </dl>
      {job?.warnings.map((warning) => (
        <Problem>{warning}</Problem>
      ))}
      {answer?.state === "parked" && !answer.reason && <ByHand message={answer.message} />}
      {answer?.reason && <Why answer={answer} nodes={props.nodes} />}
      {answer && answer.ahead.length > 0 && <Ahead answer={answer} />}
      {job && job.counts.bound > 0 && <Training job={job} now={now} />}
      {answer && answer.parkings.length > 0 && (
        <Section title="Parkings" note="newest first">
          <Parkings entries={answer.parkings.slice().reverse()} namespace={namespace} now={now} ofJob />
        </Section>
      )}
      {props.moves.length > 0 && <Moves moves={props.moves} now={now} />}
    </>
  );
}

/** Of a job that its user parked: it is in no queue, so nothing else says why it waits. */
function ByHand(props: { message: string }): JSX.Element {
  return (
    <Section title="Why it waits">
      <p class="lead">{sentence(props.message)}.</p>
    </Section>
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

function JobFacts(props: { job: JobEntry; now: number }): JSX.Element {
  const { job, now } = props;
  return (
    <>
      <Fact name="Pods">{pods(job)}</Fact>
      {job.workers && (
        <Fact name="Workers">{`${job.workers.now}, may have ${job.workers.least} to ${job.workers.most}`}</Fact>
      )}
      <Fact name="Created" title={moment(job.created_at)}>{`${duration(now - job.created_at)} ago`}</Fact>
      {job.nodes.length > 0 && <Fact name="Nodes">{named(job.nodes)}</Fact>}
    </>
  );
}

function QueueFacts(props: { entry: QueueEntry; now: number }): JSX.Element {
  const { entry, now } = props;
  const at = entry.estimated_start;
  const likely = between(entry.earliest_start, entry.latest_start, now);
  const starts = at === null ? "unknown" : `${coming(at, now)}${likely}`;
  return (
    <>
      <Fact name="Place">{entry.position === null ? "none: needs a change" : number(entry.position)}</Fact>
      <Fact name="Starts">{entry.estimate ? `${starts} (${entry.estimate})` : starts}</Fact>
    </>
  );
}

const WORDS: Readonly<Record<string, string>> = {
  gated: "waiting",
  held: "held by other gates",
  seated: "planned",
  loose: "released",
  direct: "without a plan",
  in_tree: "left to kube-scheduler",
  bound: "on nodes",
  succeeded: "succeeded",
  failed: "failed",
  leaving: "leaving",
};

function pods(job: JobEntry): string {
  const counted = Object.entries(job.counts).filter(([, count]) => count > 0);
  const each = counted.map(([state, count]) => `${count} ${WORDS[state] ?? state}`);
  return each.join(", ") || plural(job.members, "pod");
}

function named(nodes: readonly string[]): string {
  const shown = nodes.slice(0, 6).join(", ");
  return nodes.length > 6 ? `${shown} and ${nodes.length - 6} more` : shown;
}

function Training(props: { job: JobEntry; now: number }): JSX.Element {
  const { job, now } = props;
  const { progress, checkpoint, end } = job;
  const remaining = progress?.remaining;
  return (
    <Section title="Training" note={state(job)}>
      <dl class="facts">
        <div>
          <dt>Done</dt>
          <dd>
            <Done job={job} />
          </dd>
        </div>
        {progress?.step != null && <Fact name="Step">{steps(progress.step, progress.total_steps)}</Fact>}
        {remaining && (
          <Fact name="Time left">{`${rough(remaining.value)}, likely ${span(remaining.low, remaining.high)}`}</Fact>
        )}
        <Fact name="Ends">{end?.why ? `${ends(job, now)} (${SOURCES[end.why] ?? end.why})` : ends(job, now)}</Fact>
        <Fact name="Last checkpoint">{saved(checkpoint)}</Fact>
      </dl>
      {progress && progress.curve.length > 1 && (
        <figure>
          <Curve class="curve" values={progress.curve} label={`Course of ${progress.metric} over the run`} />
          <figcaption>
            {progress.metric} {progress.value === null ? "" : number(progress.value)}, from{" "}
            {number(progress.curve[0] ?? 0)} at the beginning of the run
          </figcaption>
        </figure>
      )}
    </Section>
  );
}

function steps(step: number, total: number | null): string {
  return total === null ? number(step) : `${number(step)} of ${number(total)}`;
}

function saved(checkpoint: JobEntry["checkpoint"]): string {
  if (!checkpoint) return "no checkpoint directory";
  if (checkpoint.age_seconds !== null) return `${duration(checkpoint.age_seconds)} ago, step ${number(checkpoint.step ?? 0)}`;
  return checkpoint.detail || "none yet";
}

function Ahead(props: { answer: ExplainResponse }): JSX.Element {
  return (
    <Section title="Ahead of it">
      <ol class="ahead">
        {[...props.answer.ahead].reverse().map((other) => (
          <li value={other.position}>
            <a href={`#/job/${other.job.split("/").map(encodeURIComponent).join("/")}`}>{other.job}</a>{" "}
            <span class="token">{other.reason}</span>
          </li>
        ))}
      </ol>
    </Section>
  );
}

function Moves(props: { moves: readonly MigrationEntry[]; now: number }): JSX.Element {
  return (
    <Section title="Moves of this job">
      <ul>
        {props.moves.map((move) => (
          <li key={move.name}>
            {clock(move.created_at, props.now)}: {move.phase}
            {move.downtime_seconds !== null && `, ${duration(move.downtime_seconds)} without training`}
            {move.lost_steps !== null && `, ${plural(move.lost_steps, "step")} lost`}
          </li>
        ))}
      </ul>
    </Section>
  );
}
