// Numbers, times and names as people read them. Times are seconds since the epoch.

const STEPS: readonly [number, string][] = [
  [86400, "d"],
  [3600, "h"],
  [60, "m"],
  [1, "s"],
];

/** Two units at most: "2h 5m", "45s", "0s". */
export function duration(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  const first = STEPS.findIndex(([size]) => whole >= size);
  if (first < 0) return "0s";
  const [size, unit] = STEPS[first]!;
  const text = `${Math.floor(whole / size)}${unit}`;
  const next = STEPS[first + 1];
  const rest = next ? Math.floor((whole % size) / next[0]) : 0;
  return next && rest ? `${text} ${rest}${next[1]}` : text;
}

/** A duration without its seconds, as precise as an estimate is: "45s", "12m", "2h 5m". */
export function rough(seconds: number): string {
  return duration(seconds >= 60 && seconds < 3600 ? seconds - (seconds % 60) : seconds);
}

/** "in 12m" within an hour, then the local time of day, with the date if it is another day. */
export function coming(at: number, now: number): string {
  const left = at - now;
  if (left <= 0) return "now";
  return left < 3600 ? `in ${rough(left)}` : clock(at, now);
}

// Made once: a formatter of its own for each text takes longer than the text.
const TIME = new Intl.DateTimeFormat([], { hour: "2-digit", minute: "2-digit" });
const DAY = new Intl.DateTimeFormat([], { month: "short", day: "numeric" });
const WHOLE = new Intl.NumberFormat("en");
const EXACT = new Intl.NumberFormat("en", { maximumFractionDigits: 3 });

export function clock(at: number, now: number): string {
  const date = new Date(at * 1000);
  const time = TIME.format(date);
  const sameDay = date.toDateString() === new Date(now * 1000).toDateString();
  return sameDay ? time : `${DAY.format(date)} ${time}`;
}

export function moment(at: number): string {
  return new Date(at * 1000).toLocaleString();
}

/** "600 to 900 s" as "10m to 15m"; one value where both are the same. */
export function span(low: number, high: number): string {
  const [from, to] = [rough(low), rough(high)];
  return from === to ? from : `${from} to ${to}`;
}

/** The band of a future time, in words; empty if it has no width. */
export function between(earliest: number | null, latest: number | null, now: number): string {
  if (earliest === null || earliest === latest) return "";
  return latest === null ? `, ${coming(earliest, now)} at the earliest` : `, likely ${coming(earliest, now)} to ${coming(latest, now)}`;
}

export function number(value: number): string {
  if (!Number.isFinite(value)) return "not a number";
  const size = Math.abs(value);
  if (Number.isInteger(value)) return size < 1000 ? String(value) : WHOLE.format(value);
  return size >= 0.001 && size < 100000 ? String(Number(value.toPrecision(4))) : value.toExponential(2);
}

export function percent(part: number): string {
  return `${Math.round(100 * part)} %`;
}

const BYTES = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"] as const;

/** An amount and of what it is, as shared/amounts.py writes it: "0.075 CPU", "2 GPUs", "1.5 GiB memory". */
export function amount(resource: string, value: number): string {
  const pieces = Math.abs(resource === "cpu" ? value / 1000 : value);
  return `${figure(resource, value)} ${pieces > 0 && pieces <= 1 ? resourceName(resource) : several(resource)}`;
}

/** An amount in base units (milli-CPU, bytes, pieces) where its resource stands beside it: "0.075", "512 MiB". */
export function figure(resource: string, value: number): string {
  if (resource === "cpu") return EXACT.format(value / 1000);
  if (!isBytes(resource)) return number(value);
  let power = 0;
  let left = value;
  while (Math.abs(left) >= 1024 && power < BYTES.length - 1) {
    left /= 1024;
    power += 1;
  }
  return `${EXACT.format(Number(left.toFixed(Math.abs(left) >= 100 ? 1 : 2)))} ${BYTES[power]}`;
}

function isBytes(resource: string): boolean {
  return resource === "memory" || resource === "ephemeral-storage" || resource.startsWith("hugepages-");
}

/** "nvidia.com/gpu" as "GPU", "cpu" as "CPU"; others keep their name. */
function resourceName(resource: string): string {
  if (resource === "cpu") return "CPU";
  if (resource === "pods") return "pod";
  return /^([^/]+\/p?gpu|gpu\.intel\.com\/(i915|xe))$/.test(resource) ? "GPU" : resource;
}

/** The name of several pieces: "GPUs", "CPUs", "memory". */
export function several(resource: string): string {
  const name = resourceName(resource);
  return name === "CPU" || name === "GPU" || name === "pod" ? `${name}s` : name;
}

export function isGpu(resource: string): boolean {
  return /(^|[./-])gpu($|[.-])/.test(resource) || /\/mig-/.test(resource);
}

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${number(count)} ${count === 1 ? one : many}`;
}

/** A sentence with a capital at its beginning; names and keys stay. */
export function sentence(text: string): string {
  return text && !/^(\S*[/.=]\S|[a-z]+[A-Z])/.test(text) ? text[0]!.toUpperCase() + text.slice(1) : text;
}

/** The details of a reason without its general sentence; that of a job that is misconfigured begins with the field. */
export function inShort(message: string, reason: string): string {
  const at = reason === "Misconfigured" ? -1 : message.indexOf(": ");
  return sentence(at < 0 ? message : message.slice(at + 2));
}
