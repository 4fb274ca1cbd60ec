// Long lists: only the rows in sight are in the document, with room for the others above and below.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { JSX, RefObject } from "preact";

/** Up to so many rows all are drawn: find-in-page and printing then have all of them. */
export const MOST_WHOLE = 200;
/** Pixels drawn beyond the screen above and below. */
const MARGIN = 500;
/** Rows drawn in any case, so that the Tab key always finds the next one. */
const LEAST_ROWS = 5;

export interface Sight {
  /** The element whose children are the rows. */
  readonly ref: RefObject<HTMLElement | null>;
  /** Rows from `first` up to, without, `end` are drawn. */
  readonly first: number;
  readonly end: number;
  /** Height in pixels of the rows above and below. */
  readonly above: number;
  readonly below: number;
}

/**
 * Which of many rows are in sight. Rows differ in height: those that were drawn are measured, the
 * others are taken to be as high as the mean of these.
 *
 * @param keys What names each row, in order.
 * @param guess Height of a row before any was measured.
 */
export function useSight(keys: readonly string[], guess: number): Sight {
  const ref = useRef<HTMLElement>(null);
  const heights = useRef(new Map<string, number>());
  const [top, setTop] = useState(0);
  const [, setMeasured] = useState(0);
  const whole = keys.length <= MOST_WHOLE;

  useEffect(() => {
    if (whole) return;
    let asked = 0;
    const look = (): void => {
      asked ||= requestAnimationFrame(() => {
        asked = 0;
        // Below the screen all places are alike: scrolling there draws nothing.
        setTop(Math.max(-innerHeight - MARGIN, -(ref.current?.getBoundingClientRect().top ?? 0)));
      });
    };
    const again = (): void => {
      heights.current.clear();
      look();
    };
    look();
    addEventListener("scroll", look, { passive: true });
    addEventListener("resize", again);
    return () => {
      cancelAnimationFrame(asked);
      removeEventListener("scroll", look);
      removeEventListener("resize", again);
    };
  }, [whole]);

  const mean = meanOf(heights.current) || guess;
  const height = (key: string): number => heights.current.get(key) ?? mean;
  let [first, above] = [0, 0];
  let end = keys.length;
  let below = 0;
  if (!whole) {
    while (first < keys.length - LEAST_ROWS && above + height(keys[first]!) < top - MARGIN) above += height(keys[first++]!);
    let seen = above;
    for (end = first; end < keys.length && (seen < top + innerHeight + MARGIN || end < first + LEAST_ROWS); end += 1) {
      seen += height(keys[end]!);
    }
    for (let i = end; i < keys.length; i += 1) below += height(keys[i]!);
  }

  useLayoutEffect(() => {
    if (whole || !ref.current) return;
    const isFirst = !heights.current.size;
    // Parts of a pixel count: rows that moved by one would all be drawn anew when others leave.
    for (const row of ref.current.querySelectorAll<HTMLElement>(":scope > [data-key]")) {
      const { top: from, height: own } = row.getBoundingClientRect();
      const next = row.nextElementSibling?.getBoundingClientRect().top;
      heights.current.set(row.dataset["key"]!, next === undefined ? own : next - from); // with its margin
    }
    // What was measured counts at the next look. It is drawn again at once only after the first
    // measurement, and where the rows do not reach the end of the screen.
    let bottom = above;
    for (let i = first; i < end; i += 1) bottom += height(keys[i]!);
    if (isFirst || (end < keys.length && bottom < top + innerHeight)) setMeasured((count) => count + 1);
  });
  return { ref, first, end, above, below };
}

/**
 * Draws the rows in sight. A row that was drawn before is the same element again: Preact does not
 * look into it, so that scrolling draws new rows only.
 *
 * @param of What rows are drawn of; when one of it changes, all are drawn anew.
 * @param row The element of a row, by its number.
 */
export function useDrawn(of: readonly unknown[], row: (at: number) => JSX.Element): (sight: Sight) => JSX.Element[] {
  const known = useMemo(() => new Map<number, JSX.Element>(), of);
  return ({ first, end }) => {
    const seen: JSX.Element[] = [];
    for (let at = first; at < end; at += 1) {
      const element = known.get(at) ?? row(at);
      known.set(at, element);
      seen.push(element);
    }
    return seen;
  };
}

function meanOf(heights: ReadonlyMap<string, number>): number {
  let total = 0;
  for (const height of heights.values()) total += height;
  return heights.size ? total / heights.size : 0;
}

/** How many columns of at least some pixels fit into an element. */
export function useColumns(ref: RefObject<HTMLElement | null>, least: number, gap: number): number {
  const [columns, setColumns] = useState(1);
  useLayoutEffect(() => {
    const element = ref.current;
    if (!element) return;
    const count = (): void => setColumns(Math.max(1, Math.floor((element.clientWidth + gap) / (least + gap))));
    const observer = new ResizeObserver(count);
    observer.observe(element);
    count();
    return () => observer.disconnect();
  }, []);
  return columns;
}
