// Lists as the server streams them: first whole, then what changed. It is a fetch and no
// EventSource, so that a token can be sent. Where there is no stream, the page polls (reading.ts).
import { useEffect, useState } from "preact/hooks";
import { type Answers, type Feed, onToken, opened, ReadError } from "./reading";

type Listed = "queue" | "jobs" | "nodes" | "namespaces";
type Entry = Readonly<Record<string, unknown>>;

/** A frame of extender/servers/readapi/deltas.py. */
interface Frame {
  readonly list: Listed;
  readonly whole?: boolean;
  readonly head?: Entry;
  readonly set?: Readonly<Record<string, Entry>>;
  readonly patch?: Readonly<Record<string, Entry>>;
  readonly gone?: readonly string[];
  readonly after?: Readonly<Record<string, string>>;
  readonly order?: readonly string[];
  readonly more?: boolean;
  readonly problem?: string;
  readonly status?: number;
}

export type Live = { readonly [L in Listed]?: Feed<Answers[L]> };

const NONE: Live = {};
const AGAIN_SECONDS = 2;
/** Before another try where the server has no stream: a standby, `shuntyard ui`, a proxy. */
const ABSENT_SECONDS = 30;
const SILENT_SECONDS = 45;
/** So long the page may be busy with frames before it draws and listens. */
const MOST_BUSY_MS = 8;

/** The lists of the stream; empty while there is none. */
export function useLive(namespace: string): Live {
  const [live, setLive] = useState<Live>(NONE);
  useEffect(() => keepOpen(namespace, setLive), [namespace]);
  return live;
}

function keepOpen(namespace: string, show: (live: Live) => void): () => void {
  let ended = new AbortController();
  let timer = 0;
  const begin = async (): Promise<void> => {
    clearTimeout(timer);
    ended.abort();
    ended = new AbortController();
    if (document.hidden) return;
    const mine = ended;
    let pause = AGAIN_SECONDS;
    try {
      await follow(namespace, mine, show); // a stream that ends is no failure: what it sent is shown
    } catch (error) {
      if (mine !== ended) return;
      if (error instanceof ReadError && error.status > 0) pause = ABSENT_SECONDS;
      show(NONE);
    }
    if (mine !== ended) return;
    timer = setTimeout(begin, pause * 1000);
  };
  document.addEventListener("visibilitychange", begin);
  const forget = onToken(begin);
  void begin();
  return () => {
    clearTimeout(timer);
    document.removeEventListener("visibilitychange", begin);
    forget();
    const last = ended;
    ended = new AbortController();
    last.abort();
  };
}

/** Show what one stream sends, until it ends or is silent. */
async function follow(namespace: string, ended: AbortController, show: (live: Live) => void): Promise<void> {
  const response = await opened("updates", namespace ? { namespace } : {}, ended.signal);
  const known = new Map<Listed, Map<string, Entry>>();
  let live: Live = NONE;
  let drawn = 0;
  for await (const text of events(response.body!, ended)) {
    const frame = JSON.parse(text) as Frame;
    const feed = applied(frame, known);
    if (frame.more) continue;
    live = { ...live, [frame.list]: feed };
    // Several frames come at once; one drawing shows all of them.
    drawn ||= requestAnimationFrame(() => {
      drawn = 0;
      if (!ended.signal.aborted) show(live);
    });
  }
}

/** The events of a stream, one by one: between any two the browser may draw. */
async function* events(body: ReadableStream<Uint8Array<ArrayBuffer>>, ended: AbortController): AsyncGenerator<string> {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  let silent = 0;
  let paused = performance.now();
  try {
    for (;;) {
      clearTimeout(silent);
      silent = setTimeout(() => ended.abort(), SILENT_SECONDS * 1000);
      const { done, value } = await reader.read();
      if (done) return;
      const parts = (rest + value).split("\n\n");
      rest = parts.pop() ?? "";
      for (const part of parts) {
        if (!part.startsWith("data: ")) continue;
        if (performance.now() - paused > MOST_BUSY_MS) {
          await new Promise((resume) => setTimeout(resume));
          paused = performance.now();
        }
        yield part.slice("data: ".length);
      }
    }
  } finally {
    clearTimeout(silent);
  }
}

function applied(frame: Frame, known: Map<Listed, Map<string, Entry>>): Feed<never> {
  if (frame.problem !== undefined) return { data: null, problem: frame.problem, status: frame.status ?? 0, ahead: 0 };
  const entries = (!frame.whole && known.get(frame.list)) || new Map<string, Entry>();
  for (const key of frame.gone ?? []) entries.delete(key);
  const order = frame.order ?? inserted([...entries.keys()], Object.entries(frame.after ?? {}));
  for (const [key, entry] of Object.entries(frame.set ?? {})) entries.set(key, entry);
  for (const [key, patch] of Object.entries(frame.patch ?? {})) entries.set(key, { ...entries.get(key), ...patch });
  const ordered = new Map(order.map((key) => [key, entries.get(key)!]));
  known.set(frame.list, ordered);
  const data = { ...frame.head, entries: [...ordered.values()] } as never;
  const at = Number(frame.head?.["generated_at"] ?? 0);
  return { data, problem: "", status: 200, ahead: at - Date.now() / 1000 };
}

/** Keys with further ones, each after the one that is named with it. */
function inserted(keys: readonly string[], further: readonly (readonly [string, string])[]): readonly string[] {
  const next = new Map(further.map(([key, before]) => [before, key]));
  const all: string[] = [];
  for (const start of ["", ...keys]) {
    for (let key: string | undefined = start; key !== undefined; key = next.get(key)) if (key) all.push(key);
  }
  return all;
}
