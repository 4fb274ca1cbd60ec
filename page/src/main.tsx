// The frame of the page: the strip, the views and the state of the connection.
import { type JSX, render } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Doctor } from "./doctor";
import { JobPage } from "./job";
import { Ledgers } from "./ledgers";
import { Nodes } from "./nodes";
import { Parked } from "./parked";
import { Problem, Quiet } from "./parts";
import { keyOf, Queue } from "./queue";
import { type Live, useLive } from "./live";
import { type Answers, type Feed, type Name, UNAUTHORIZED, useFeed } from "./reading";
import { address, type Route, useRoute } from "./route";
import { Running } from "./running";
import { Strip } from "./strip";
import { Teams } from "./teams";
import { Timeline } from "./timeline";
import { TokenForm } from "./token";
import { WhatIf } from "./what_if";

const VIEWS = {
  "": "Queue",
  running: "Running",
  timeline: "Timeline",
  nodes: "Nodes",
  changes: "Changes",
  teams: "Teams",
  "what-if": "What if",
  doctor: "Doctor",
};

function App(): JSX.Element {
  const route = useRoute();
  const [view = ""] = route.parts;
  const of: Record<string, string> = route.namespace ? { namespace: route.namespace } : {};
  const live = useLive(route.namespace);
  const queue = useList("queue", live, of);
  const jobs = useList("jobs", live, of);
  const nodes = useList("nodes", live);
  const namespaces = useList("namespaces", live);
  const now = useNow(queue.ahead || jobs.ahead);
  const teams = namespaces.data?.entries.map((entry) => entry.namespace) ?? [];
  return (
    <>
      <a class="skip" href="#main" onClick={skip}>
        To the content
      </a>
      <header>
        <a class="brand" href={address([], route.namespace)}>
          Shuntyard
        </a>
        <nav aria-label="Views">
          {Object.entries(VIEWS).map(([name, title]) => (
            <a href={address(name ? [name] : [], route.namespace)} aria-current={view === name ? "page" : undefined}>
              {title}
            </a>
          ))}
        </nav>
        <Filter route={route} teams={teams} />
      </header>
      <Strip queue={queue.data} jobs={jobs.data} nodes={nodes.data} nodesProblem={nodes.problem} now={now} />
      <Connection feeds={[queue, jobs]} />
      <main id="main" tabIndex={-1}>
        <View route={route} queue={queue} jobs={jobs} nodes={nodes} namespaces={namespaces} now={now} />
      </main>
    </>
  );
}

/** A list of the stream; polled while there is none. */
function useList<N extends keyof Live & Name>(
  name: N,
  live: Live,
  query: Readonly<Record<string, string>> = {},
): Feed<Answers[N]> {
  const streamed = live[name] as Feed<Answers[N]> | undefined;
  const polled = useFeed(streamed ? null : name, query);
  const current = streamed ?? polled;
  const key = JSON.stringify([name, query]);
  // A ref and no state: what is kept here draws nothing by itself.
  const seen = useRef({ key, current, kept: current });
  if (seen.current.key !== key) seen.current = { key, current, kept: { ...current, data: null } };
  else if (seen.current.current !== current) seen.current = { key, current, kept: current.data ? current : seen.current.kept };
  // Between the end of a stream and the first poll the last answer stays.
  const { kept } = seen.current;
  return useMemo(
    () => (current.data || current.problem ? current : { ...current, data: kept.data, ahead: kept.ahead }),
    [current, kept],
  );
}

interface Feeds {
  readonly queue: ReturnType<typeof useFeed<"queue">>;
  readonly jobs: ReturnType<typeof useFeed<"jobs">>;
  readonly nodes: ReturnType<typeof useFeed<"nodes">>;
  readonly namespaces: ReturnType<typeof useFeed<"namespaces">>;
}

function View(props: Feeds & { route: Route; now: number }): JSX.Element {
  const { route, queue, jobs, nodes, namespaces, now } = props;
  const { parts, namespace } = route;
  const entries = jobs.data?.entries ?? [];
  const waiting = queue.data?.entries ?? [];
  const machines = nodes.data?.entries ?? [];
  switch (parts[0]) {
    case undefined:
      if (!queue.data) return <Reading feed={queue} />;
      return (
        <>
          <Queue queue={queue.data} namespace={namespace} now={now} />
          <Parked jobs={entries} namespace={namespace} now={now} />
          <Running jobs={entries} namespace={namespace} now={now} />
        </>
      );
    case "running":
      return jobs.data ? <Running jobs={entries} namespace={namespace} now={now} /> : <Reading feed={jobs} />;
    case "timeline":
      return jobs.data && queue.data ? (
        <Timeline jobs={entries} queue={waiting} namespace={namespace} now={now} />
      ) : (
        <Reading feed={jobs} />
      );
    case "nodes":
      return nodes.data ? <Nodes nodes={machines} jobs={entries} namespace={namespace} /> : <Reading feed={nodes} />;
    case "changes":
      return <Changes namespace={namespace} now={now} />;
    case "teams":
      return namespaces.data ? <Teams answer={namespaces.data} /> : <Reading feed={namespaces} />;
    case "what-if": {
      const teams = namespaces.data?.entries.map((entry) => entry.namespace) ?? [];
      return <WhatIf jobs={entries} nodes={machines} namespace={namespace} teams={teams} now={now} />;
    }
    case "doctor":
      return <Doctor />;
    case "job":
      return <OneJob {...props} key={parts.join("/")} />;
    default:
      return <Problem>There is no such view: {parts.join("/")}</Problem>;
  }
}

function OneJob(props: Feeds & { route: Route; now: number }): JSX.Element {
  const parts = props.route.parts.slice(1);
  const [namespace = "", kind = "", job = ""] = parts;
  const key = parts.join("/");
  const moves = useFeed("migrations", { namespace });
  return (
    <JobPage
      parts={parts}
      job={props.jobs.data?.entries.find((entry) => keyOf(entry) === key)}
      queued={props.queue.data?.entries.find((entry) => keyOf(entry) === key)}
      explained={useFeed("explain", { namespace, kind, job })}
      moves={moves.data?.entries.filter((entry) => keyOf(entry) === key) ?? []}
      nodes={props.nodes.data?.entries ?? []}
      now={props.now}
    />
  );
}

function Changes(props: { namespace: string; now: number }): JSX.Element {
  const migrations = useFeed("migrations");
  const rescales = useFeed("rescales");
  const parkings = useFeed("parkings");
  if (!migrations.data && !rescales.data && !parkings.data) return <Reading feed={migrations} />;
  return <Ledgers migrations={migrations.data} rescales={rescales.data} parkings={parkings.data} {...props} />;
}

function Reading(props: { feed: Feed<unknown> }): JSX.Element {
  return props.feed.problem ? <Problem>{props.feed.problem}</Problem> : <Quiet>Reading…</Quiet>;
}

function Filter(props: { route: Route; teams: readonly string[] }): JSX.Element {
  const { parts, namespace } = props.route;
  const names = [...new Set([...props.teams, ...(namespace ? [namespace] : [])])].sort();
  return (
    <label class="filter">
      Team{" "}
      <select
        value={namespace}
        onChange={(event) => {
          location.hash = address(parts[0] === "job" ? [] : parts, event.currentTarget.value);
        }}
      >
        <option value="">all</option>
        {names.map((name) => (
          <option value={name}>{name}</option>
        ))}
      </select>
    </label>
  );
}

/** Says when reads fail; asks for a token where one is needed. */
function Connection(props: { feeds: readonly Feed<unknown>[] }): JSX.Element {
  const failed = props.feeds.find((feed) => feed.problem);
  return (
    <div role="status" class="connection">
      {failed && <p class="problem">{failed.data ? `Not current: ${failed.problem}` : failed.problem}</p>}
      {failed?.status === UNAUTHORIZED && <TokenForm />}
    </div>
  );
}

/** The server's time, once a second. */
function useNow(ahead: number): number {
  const [ours, setOurs] = useState(() => Date.now() / 1000);
  useEffect(() => {
    const timer = setInterval(() => setOurs(Date.now() / 1000), 1000);
    return () => clearInterval(timer);
  }, []);
  return ours + ahead;
}

/** Move the focus without changing the address, which names the view. */
function skip(event: Event): void {
  event.preventDefault();
  document.getElementById("main")?.focus();
}

render(<App />, document.getElementById("app")!);
