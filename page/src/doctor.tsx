// What `shuntyard doctor` finds. Only `shuntyard ui` can ask: the checks need the reader's own rights.
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { Finding, Report } from "./api";
import { type Column, Problem, Quiet, Section, Table } from "./parts";
import { ask, failure } from "./reading";

const SECONDS = 120;
const REFUSED = new Set([401, 403, 404]);

interface Seen {
  readonly report: Report | null;
  readonly problem: string;
  readonly status: number;
}

export function Doctor(): JSX.Element {
  const [seen, setSeen] = useState<Seen>({ report: null, problem: "", status: 0 });
  const [round, setRound] = useState(0);
  const [asking, setAsking] = useState(true);
  useEffect(() => {
    const left = new AbortController();
    const signal = AbortSignal.any([left.signal, AbortSignal.timeout(SECONDS * 1000)]);
    setAsking(true);
    ask<Report>("doctor", {}, signal)
      .then((report) => setSeen({ report, problem: "", status: 200 }))
      .catch((error: unknown) => !left.signal.aborted && setSeen((last) => ({ ...last, ...failure(error) })))
      .finally(() => !left.signal.aborted && setAsking(false));
    return () => left.abort();
  }, [round]);
  const { report, problem, status } = seen;
  if (REFUSED.has(status)) return <Elsewhere />;
  return (
    <Section title="Doctor" note={report ? summary(report.entries) : ""}>
      {problem && <Problem>{problem}</Problem>}
      {!report && asking && <Quiet>Checking…</Quiet>}
      {report && (
        <Table caption="Checks of the installation" columns={COLUMNS} rows={report.entries} id={(one) => one.check + one.message} />
      )}
      <button type="button" disabled={asking} onClick={() => setRound(round + 1)}>
        {asking ? "Checking…" : "Check again"}
      </button>
    </Section>
  );
}

function Elsewhere(): JSX.Element {
  return (
    <Section title="Doctor">
      <p>
        The checks of the installation need your own rights on the cluster. <code>shuntyard ui</code> shows them here, and{" "}
        <code>shuntyard doctor</code> in a terminal.
      </p>
    </Section>
  );
}

const CLASSES: Readonly<Record<Finding["level"], string>> = {
  ok: "good",
  warning: "short",
  fault: "bad",
  "not known": "quiet",
};

const COLUMNS: readonly Column<Finding>[] = [
  { title: "Check", shape: "head", cell: (one) => one.check },
  { title: "State", cell: (one) => <span class={`level ${CLASSES[one.level]}`}>{one.level}</span> },
  { title: "Found", shape: "wide", cell: (one) => one.message },
  { title: "To fix it", shape: "wide", cell: (one) => one.fix },
];

function summary(entries: readonly Finding[]): string {
  const counts = Object.keys(CLASSES).map((level) => [level, entries.filter((one) => one.level === level).length] as const);
  return counts.map(([level, count]) => `${count} ${level}`).join(", ");
}
