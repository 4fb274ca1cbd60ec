// Lines of time: what runs to its expected end, and what starts when, from left to right.
import type { JSX, RefObject } from "preact";
import { clock } from "./format";
import { JobLink } from "./parts";
import { useSight } from "./window";

const MOST_HOURS = 24;
const LEAST_SECONDS = 600;
const TICKS = 4;
const LINE_HEIGHT = 40;

export interface Line {
  readonly key: string;
  readonly kind: "runs" | "starts" | "supposed";
  /** Seconds from now. */
  readonly from: number;
  readonly to: number | null;
  /** The band of the end, or of the start, seconds from now; null without one. */
  readonly band: readonly [number, number] | null;
  /** The start that another job delays, seconds from now; null without one. */
  readonly before: number | null;
  /** The line in words, for those in sight. */
  readonly says: () => string;
}

export function Gantt(props: { lines: readonly Line[]; namespace: string; now: number }): JSX.Element {
  const { lines } = props;
  const until = horizon(lines);
  const sight = useSight(lines.map(lineKey), LINE_HEIGHT);
  const shown = KINDS.filter(([, , is]) => lines.some(is));
  return (
    <>
      <ol class="timeline" ref={sight.ref as RefObject<HTMLOListElement | null>}>
        <li class="axis" aria-hidden="true">
          <span />
          <Axis until={until} now={props.now} />
        </li>
        {sight.above > 0 && <li class="room" aria-hidden="true" style={{ height: `${sight.above}px` }} />}
        {lines.slice(sight.first, sight.end).map((line) => (
          <li key={lineKey(line)} data-key={lineKey(line)}>
            <span class="of">
              {line.kind === "supposed" ? line.key.split("/")[2] : <JobLink job={line.key} namespace={props.namespace} />}
            </span>
            <Drawn line={line} until={until} />
            <span class="says">{line.says()}</span>
          </li>
        ))}
        {sight.below > 0 && <li class="room" aria-hidden="true" style={{ height: `${sight.below}px` }} />}
      </ol>
      <p class="legend">
        {shown.map(([kind, text]) => (
          <span class={kind}>{text}</span>
        ))}
      </p>
    </>
  );
}

/** What is drawn, by its colour: class, words, and which lines have it. */
const KINDS: readonly (readonly [string, string, (line: Line) => boolean])[] = [
  ["runs", "runs", (line) => line.kind === "runs"],
  ["supposed", "the new job, from its start", (line) => line.kind === "supposed"],
  ["starts", "expected start, and from then on", (line) => line.kind === "starts"],
  ["band", "likely range", (line) => line.band !== null],
  ["delay", "delay by the new job", (line) => line.before !== null],
];

function lineKey(line: Line): string {
  return `${line.kind}-${line.key}`;
}

/** How many seconds are drawn: to the last known moment and a little more, at most a day. */
function horizon(lines: readonly Line[]): number {
  const last = Math.max(LEAST_SECONDS, ...lines.map((line) => Math.max(line.from, line.to ?? 0, line.band?.[1] ?? 0)));
  return Math.min(1.1 * last, MOST_HOURS * 3600);
}

function Axis(props: { until: number; now: number }): JSX.Element {
  const ticks = Array.from({ length: TICKS + 1 }, (_, i) => i / TICKS);
  return (
    <span class="ticks">
      {ticks.slice(0, -1).map((part) => (
        <span>{part === 0 ? "now" : clock(props.now + part * props.until, props.now)}</span>
      ))}
    </span>
  );
}

function Drawn(props: { line: Line; until: number }): JSX.Element {
  const { line, until } = props;
  const at = (seconds: number): number => Math.min(100, (100 * seconds) / until);
  const from = at(line.from);
  const to = line.to === null ? 100 : Math.max(at(line.to), from + 0.5);
  return (
    <svg class="gantt" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
      {Array.from({ length: TICKS }, (_, i) => (
        <line class="tick" x1={(100 * i) / TICKS} x2={(100 * i) / TICKS} y1={0} y2={10} />
      ))}
      <rect class={line.to === null ? `${line.kind} open` : line.kind} x={from} y={2} width={to - from} height={6} />
      {line.band && (
        <rect class="band" x={at(line.band[0])} y={3.5} width={Math.max(0.5, at(line.band[1]) - at(line.band[0]))} height={3} />
      )}
      {line.before !== null && (
        <rect class="delay" x={at(line.before)} y={4} width={Math.max(0.4, from - at(line.before))} height={2} />
      )}
      {line.kind !== "runs" && <rect class="start" x={from} y={1} width={0.6} height={8} />}
    </svg>
  );
}
