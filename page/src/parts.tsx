// Small parts that every view uses.
import type { ComponentChildren, JSX, RefObject } from "preact";
import { useMemo, useState } from "preact/hooks";
import { jobAddress } from "./route";
import { useDrawn, useSight } from "./window";

export function JobLink(props: { job: string; namespace: string; children?: ComponentChildren }): JSX.Element {
  const [, , name] = props.job.split("/");
  return <a href={jobAddress(props.job, props.namespace)}>{props.children ?? name ?? props.job}</a>;
}

export function Section(props: { title: string; note?: string; children: ComponentChildren }): JSX.Element {
  const id = props.title.toLowerCase().replace(/[^a-z]+/g, "-");
  return (
    <section aria-labelledby={id}>
      <h2 id={id}>
        {props.title}
        {props.note && <span class="note"> {props.note}</span>}
      </h2>
      {props.children}
    </section>
  );
}

export function Problem(props: { children: ComponentChildren }): JSX.Element {
  return (
    <p class="problem" role="alert">
      {props.children}
    </p>
  );
}

export function Quiet(props: { children: ComponentChildren }): JSX.Element {
  return <p class="quiet">{props.children}</p>;
}

export interface Column<Row> {
  readonly title: string;
  readonly cell: (row: Row) => ComponentChildren;
  /** "number" aligns to the right; "whole" does not wrap; "wide" may wrap and takes the room that is left. */
  readonly shape?: "number" | "whole" | "wide" | "head";
}

const ROW_HEIGHT = 34;

/** A table; on narrow screens each row is a card with the column's title before each cell. */
export function Table<Row>(props: {
  caption: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  id: (row: Row) => string;
}): JSX.Element {
  const keys = useMemo(() => props.rows.map(props.id), [props.rows]);
  const sight = useSight(keys, ROW_HEIGHT);
  const { columns, rows } = props;
  const drawn = useDrawn([columns, rows], (at: number) => (
    <tr role="row" key={keys[at]} data-key={keys[at]} aria-rowindex={at + 2}>
      {columns.map((column) => cell(column, rows[at]!))}
    </tr>
  ));
  return (
    // The roles are repeated because cards are no table by their style.
    <table role="table" aria-rowcount={props.rows.length + 1}>
      <caption class="unseen">{props.caption}</caption>
      <thead role="rowgroup">
        <tr role="row" aria-rowindex={1}>
          {props.columns.map((column) => (
            <th role="columnheader" scope="col" class={column.shape}>
              {column.title}
            </th>
          ))}
        </tr>
      </thead>
      <tbody role="rowgroup" ref={sight.ref as RefObject<HTMLTableSectionElement | null>}>
        <Room height={sight.above} columns={props.columns.length} />
        {drawn(sight)}
        <Room height={sight.below} columns={props.columns.length} />
      </tbody>
    </table>
  );
}

/** The place of rows that are not drawn. */
function Room(props: { height: number; columns: number }): JSX.Element | null {
  if (!props.height) return null;
  return (
    <tr aria-hidden="true" class="room" style={{ height: `${props.height}px` }}>
      <td colSpan={props.columns} style={{ height: `${props.height}px` }} />
    </tr>
  );
}

function cell<Row>(column: Column<Row>, row: Row): JSX.Element {
  const content = column.cell(row);
  if (column.shape === "head") {
    return (
      <th role="rowheader" scope="row" class="head" data-title={column.title}>
        {content}
      </th>
    );
  }
  return (
    <td role="cell" class={column.shape} data-title={column.title}>
      {content}
    </td>
  );
}

/** A bar of parts that add up to a total, with the same as text for those who do not see it. */
export function Bar(props: {
  label: string;
  total: number;
  parts: readonly { readonly kind: string; readonly value: number }[];
}): JSX.Element {
  const total = Math.max(props.total, 1e-9);
  let start = 0;
  const drawn = props.parts.map((part) => {
    const x = start;
    start += (100 * part.value) / total;
    return <rect class={part.kind} x={x} y={0} width={Math.max(0, start - x)} height={10} />;
  });
  return (
    <svg class="bar" viewBox="0 0 100 10" preserveAspectRatio="none" role="img" aria-label={props.label}>
      <rect class="rest" x={0} y={0} width={100} height={10} />
      {drawn}
    </svg>
  );
}

/** A line through values, oldest first. */
export function Curve(props: { values: readonly number[]; label: string; class: string }): JSX.Element | null {
  const values = props.values.filter(Number.isFinite);
  if (values.length < 2) return null;
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const height = high - low || 1;
  const points = values
    .map((value, i) => `${((100 * i) / (values.length - 1)).toFixed(2)},${(29 - (28 * (value - low)) / height).toFixed(2)}`)
    .join(" ");
  return (
    <svg class={props.class} viewBox="0 0 100 30" preserveAspectRatio="none" role="img" aria-label={props.label}>
      <polyline points={points} />
    </svg>
  );
}

/** Copy a text; where the browser forbids that, the text is selected to be copied by hand. */
export function Copy(props: { text: string; what: string }): JSX.Element {
  const [state, setState] = useState<"" | "Copied" | "Select and copy">("");
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(props.text);
      setState("Copied");
    } catch {
      setState("Select and copy");
    }
    setTimeout(() => setState(""), 2000);
  };
  return (
    <span class="copy">
      <code tabIndex={0}>{props.text}</code>
      <button type="button" onClick={copy} aria-label={`Copy the command that ${props.what}`}>
        {state || "Copy"}
      </button>
      <span class="unseen" role="status">
        {state}
      </span>
    </span>
  );
}
