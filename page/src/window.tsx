// Long lists: only the rows in sight are in the document, with room for the others above and below.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { RefObject } from "preact";

/** Up to so many rows all are drawn: find-in-page and printing then have all of them. */
export const MOST_WHOLE = 200;
/** Rows drawn beyond the screen, so that the Tab key always finds the next one. */
const MARGIN = 15;

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
        setTop(Math.max(0, -(ref.current?.getBoundingClientRect().top ?? 0)));
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
    let at = 0;
    while (first < keys.length - 1 && at + height(keys[first]!) < top) at += height(keys[first++]!);
    end = first;
    for (let seen = at; end < keys.length && seen < top + innerHeight; end += 1) seen += height(keys[end]!);
    first = Math.max(0, first - MARGIN);
    end = Math.min(keys.length, end + MARGIN);
    for (let i = 0; i < first; i += 1) above += height(keys[i]!);
    for (let i = end; i < keys.length; i += 1) below += height(keys[i]!);
  }

  useLayoutEffect(() => {
    if (whole || !ref.current) return;
    let changed = false;
    for (const row of ref.current.querySelectorAll<HTMLElement>(":scope > [data-key]")) {
      const key = row.dataset["key"]!;
      const next = row.nextElementSibling as HTMLElement | null;
      const now = next ? next.offsetTop - row.offsetTop : row.offsetHeight; // with its margin
      // A row that was measured before draws nothing again: columns may be wider with other rows in
      // sight, and that may go to and fro for ever.
      changed ||= !heights.current.has(key);
      heights.current.set(key, now);
    }
    if (changed) setMeasured((count) => count + 1);
  });
  return { ref, first, end, above, below };
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
