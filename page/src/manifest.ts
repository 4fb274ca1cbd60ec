// The manifest of a job that is not submitted: from a few numbers, or as pasted (pure).
import { CORE_SCHEMA, loadAll, mergeTag, YAMLException } from "js-yaml";

export interface Fields {
  readonly namespace: string;
  readonly pods: string;
  /** GPUs, CPU and memory of each pod. */
  readonly gpus: string;
  readonly cpu: string;
  readonly memory: string;
  readonly duration: string;
}

export const FIELDS: Fields = { namespace: "", pods: "2", gpus: "1", cpu: "4", memory: "16Gi", duration: "2h" };

/** Objects of which only the names are sent: their content may be secret. */
const CONTENT = new Set(["ConfigMap", "Secret"]);
const SCHEMA = CORE_SCHEMA.withTags(mergeTag);
const MOST_CHARACTERS = 500_000;

/** A Job of these numbers, as YAML. */
export function written(fields: Fields, resource: string): string {
  const amounts = [
    ["cpu", fields.cpu],
    ["memory", fields.memory],
    ...(Number(fields.gpus) ? [[resource, fields.gpus]] : []),
  ];
  const lines = [
    "apiVersion: batch/v1",
    "kind: Job",
    "metadata:",
    "  name: new-job",
    ...(fields.namespace ? [`  namespace: ${JSON.stringify(fields.namespace)}`] : []),
    "spec:",
    `  parallelism: ${Number(fields.pods)}`,
    `  completions: ${Number(fields.pods)}`,
    "  completionMode: Indexed",
    "  template:",
    ...(fields.duration
      ? ["    metadata:", "      annotations:", `        shuntyard.io/expected-duration: ${JSON.stringify(fields.duration)}`]
      : []),
    "    spec:",
    "      schedulerName: shuntyard",
    "      restartPolicy: Never",
    "      containers:",
    "      - name: main",
    "        image: example",
    "        resources:",
    "          limits:",
    ...amounts.map(([name, value]) => `            ${name}: ${JSON.stringify(value)}`),
  ];
  return `${lines.join("\n")}\n`;
}

/** The objects of a manifest in YAML or JSON, as the body of a question; a text says what is wrong. */
export function question(text: string): { readonly body: string } | { readonly problem: string } {
  if (text.length > MOST_CHARACTERS) return { problem: `the manifest has more than ${MOST_CHARACTERS} characters` };
  let documents: unknown[];
  try {
    documents = loadAll(text, { schema: SCHEMA }).filter((one) => one !== null && one !== undefined);
  } catch (error) {
    if (!(error instanceof YAMLException)) throw error;
    return { problem: `the manifest is not YAML: ${error.message}` };
  }
  const objects = documents.flatMap(items);
  const odd = objects.find((one) => typeof one !== "object" || one === null || !("kind" in one));
  if (!objects.length || odd !== undefined) return { problem: "expected what `kubectl apply -f` takes: objects with a kind" };
  const sent = objects.map(withoutContent);
  try {
    return { body: JSON.stringify(sent.length === 1 ? sent[0] : { apiVersion: "v1", kind: "List", items: sent }) };
  } catch {
    return { problem: "the manifest repeats itself without end: write it without aliases" };
  }
}

function items(document: unknown): readonly unknown[] {
  const list = document as { kind?: unknown; items?: unknown };
  return list.kind === "List" && Array.isArray(list.items) ? list.items : [document];
}

function withoutContent(object: unknown): unknown {
  const { apiVersion, kind, metadata } = object as { apiVersion?: unknown; kind: string; metadata?: { name?: unknown } };
  return CONTENT.has(kind) ? { apiVersion, kind, metadata: { name: metadata?.name } } : object;
}
