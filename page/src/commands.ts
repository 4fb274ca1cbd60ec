// Commands that apply a suggested change, for a terminal (pure).
//
// Values come from other users' objects, so everything that a shell could interpret is quoted.
import type { Change, Step } from "./api";

/** Kinds of jobs by the names that kubectl knows. */
const KINDS = new Set([
  "deployment",
  "job",
  "jobset",
  "jaxjob",
  "leaderworkerset",
  "mpijob",
  "paddlejob",
  "pod",
  "pytorchjob",
  "raycluster",
  "rayjob",
  "statefulset",
  "tfjob",
  "trainjob",
  "vcjob",
  "xgboostjob",
]);

/** The commands of all steps of a change; empty if one of them cannot be a command. */
export function commands(change: Change): readonly string[] {
  const lines = change.steps.map(command);
  return lines.every(Boolean) ? lines : [];
}

function command(step: Step): string {
  switch (step.kind) {
    case "set-annotation":
    case "lower-min-available":
      return annotate(step);
    case "raise-quota":
      return line("kubectl", "annotate", "namespace", step.subject, `${step.field}=${step.to ?? ""}`, "--overwrite");
    case "uncordon":
      return line("kubectl", "uncordon", step.subject);
    case "remove-taint":
      return line("kubectl", "taint", "nodes", step.subject, `${step.field}-`);
    default:
      return "";
  }
}

function annotate(step: Step): string {
  const [namespace = "", kind = "", name = ""] = step.subject.split("/");
  if (!KINDS.has(kind) || !name) return "";
  const change = step.to ? [`${step.field}=${step.to}`, "--overwrite"] : [`${step.field}-`];
  return line("kubectl", "annotate", "-n", namespace, kind, name, ...change);
}

/** A command line for a POSIX shell. */
export function line(...words: readonly string[]): string {
  return words.map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`)).join(" ");
}
