// Reads the read API, page by page, again and again while the page is visible. Lists come so where
// there is no stream of them (live.ts).
//
// The address is relative, so that it works on the extender, in `shuntyard ui` and behind a proxy.
// A token, where one is needed, is kept in memory only and sent as a header.
import { useEffect, useState } from "preact/hooks";
import type {
  ExplainResponse,
  JobsResponse,
  MigrationsResponse,
  NamespacesResponse,
  NodesResponse,
  ParkingsResponse,
  QueueResponse,
  RescalesResponse,
} from "./api";

export interface Answers {
  queue: QueueResponse;
  jobs: JobsResponse;
  nodes: NodesResponse;
  namespaces: NamespacesResponse;
  migrations: MigrationsResponse;
  rescales: RescalesResponse;
  parkings: ParkingsResponse;
  explain: ExplainResponse;
}

export type Name = keyof Answers;

export interface Feed<Body> {
  /** The last answer; kept while later reads fail. */
  readonly data: Body | null;
  /** Why the last read failed; empty if it did not. */
  readonly problem: string;
  /** HTTP status of the failure; 0 without an answer. */
  readonly status: number;
  /** The server's time minus ours, in seconds. */
  readonly ahead: number;
}

const SECONDS = 3;
const MOST_PAGES = 1000;
const VERSION = "shuntyard.io/read/v1";
/** HTTP status where a token is needed. */
export const UNAUTHORIZED = 401;
const EMPTY: Feed<never> = { data: null, problem: "", status: 0, ahead: 0 };

export class ReadError extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

let token = "";
const tokenListeners = new Set<() => void>();

/** Use a token from now on, in memory only. */
export function setToken(text: string): void {
  token = text.trim();
  for (const listener of tokenListeners) listener();
}

/** Call a function when the token changes; the result forgets it. */
export function onToken(listener: () => void): () => void {
  tokenListeners.add(listener);
  return () => tokenListeners.delete(listener);
}

/** True if the page may send a token: its connection is encrypted, or stays on this machine. */
export function mayCarryToken(): boolean {
  return window.isSecureContext;
}

/** Read a list or an answer again every few seconds; null reads nothing. */
export function useFeed<N extends Name>(
  name: N | null,
  query: Readonly<Record<string, string>> = {},
): Feed<Answers[N]> {
  const [feed, setFeed] = useState<Feed<Answers[N]>>(EMPTY);
  const key = name === null ? "" : `${name}?${new URLSearchParams(query)}`;
  useEffect(() => {
    setFeed(EMPTY);
    if (name === null) return;
    return repeat(async (signal) => {
      try {
        const data = await read(name, query, signal);
        setFeed({ data, problem: "", status: 200, ahead: data.generated_at - Date.now() / 1000 });
      } catch (error) {
        if (signal.aborted) return;
        setFeed((last) => ({ ...last, ...failure(error) }));
      }
    });
  }, [key]);
  return feed;
}

/** Run an action now, and again a while after it ended; not while the page is hidden. */
function repeat(action: (signal: AbortSignal) => Promise<void>): () => void {
  const ended = new AbortController();
  let timer = 0;
  let running = false;
  const next = async (): Promise<void> => {
    clearTimeout(timer);
    if (running || ended.signal.aborted || document.hidden) return;
    running = true;
    await action(ended.signal);
    running = false;
    if (!ended.signal.aborted) timer = setTimeout(next, SECONDS * 1000);
  };
  document.addEventListener("visibilitychange", next);
  tokenListeners.add(next);
  void next();
  return () => {
    ended.abort();
    clearTimeout(timer);
    document.removeEventListener("visibilitychange", next);
    tokenListeners.delete(next);
  };
}

async function read<N extends Name>(
  name: N,
  query: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<Answers[N]> {
  let whole: Answers[N] | null = null;
  let after = "";
  for (let page = 0; page < MOST_PAGES; page += 1) {
    const body = await ask<Answers[N]>(name, after ? { ...query, continue: after } : query, signal);
    whole = whole === null ? body : joined(whole, body);
    after = "continue" in body ? body.continue : "";
    if (!after) return whole;
  }
  throw new ReadError(0, `${name} has more than ${MOST_PAGES} pages`);
}

/** The entries of both pages; one that has moved meanwhile is listed once. */
function joined<Body>(whole: Body, page: Body): Body {
  const entries = new Map<string, unknown>();
  for (const list of [whole, page]) {
    const listed = (list as { entries?: readonly Record<string, unknown>[] }).entries ?? [];
    for (const entry of listed) {
      const key = ["namespace", "kind", "job", "name", "id"].map((field) => entry[field]).join("/");
      if (!entries.has(key)) entries.set(key, entry);
    }
  }
  return { ...whole, entries: [...entries.values()] };
}

/** The response of a read, which was not refused. With a question it is a POST of it. */
export async function opened(
  name: string,
  query: Readonly<Record<string, string>>,
  signal: AbortSignal,
  question: string | null = null,
): Promise<Response> {
  const parameters = new URLSearchParams(query).toString();
  const headers: Record<string, string> = token ? { Authorization: `Bearer ${token}` } : {};
  if (question !== null) headers["Content-Type"] = "application/json";
  const response = await fetch(`../v1/${name}${parameters && `?${parameters}`}`, {
    headers,
    signal,
    method: question === null ? "GET" : "POST",
    body: question,
    cache: "no-store",
    redirect: "error",
  });
  if (!response.ok) throw new ReadError(response.status, await reason(response));
  return response;
}

export async function ask<Body>(
  name: string,
  query: Readonly<Record<string, string>>,
  signal: AbortSignal,
  question: string | null = null,
): Promise<Body> {
  const response = await opened(name, query, signal, question);
  const body = (await response.json()) as Body & { apiVersion?: string };
  if (body.apiVersion !== VERSION) {
    throw new ReadError(0, `the server answers as ${body.apiVersion ?? "another program"}, this page reads ${VERSION}`);
  }
  return body;
}

/** A failure in words, and its HTTP status; 0 without an answer. */
export function failure(error: unknown): { readonly problem: string; readonly status: number } {
  if (error instanceof ReadError) return { problem: error.message, status: error.status };
  return { problem: "the server does not answer", status: 0 };
}

async function reason(response: Response): Promise<string> {
  const text = (await response.text()).trim().slice(0, 2000);
  if (response.status === UNAUTHORIZED) return text || "this needs a token";
  return text && !text.startsWith("<") ? text : `the server answered with status ${response.status}`;
}
