import type { KeySelector, Manifest } from "../kinds/kind.js";
import { describe } from "./fields.js";
import { record } from "./json.js";
import { quoteHint } from "./quote-hint.js";
import type { Report } from "./report.js";

export interface Envelope {
  readonly apiVersion: string;
  readonly kind: string;
  readonly group: string;
  readonly version: string;
  readonly body: Readonly<Record<string, unknown>>;
}

/** Reads apiVersion and kind of a document. Returns undefined if it reported that the document is not an object. */
export function readEnvelope(document: unknown, report: Report): Envelope | undefined {
  const body = record(document);
  if (body === undefined) {
    report.error([], `is ${describe(document)}, expected a Kubernetes object: apiVersion, kind, metadata`);
    return undefined;
  }
  const { apiVersion, kind } = body;
  if (apiVersion === undefined && kind === undefined) {
    report.error([], "has neither apiVersion nor kind, expected a Kubernetes object");
    return undefined;
  }
  let complete = true;
  for (const [name, value] of Object.entries({ apiVersion, kind })) {
    if (typeof value === "string" && value !== "") continue;
    report.error(
      [name],
      `is ${describe(value)}, expected ${name === "kind" ? "a kind such as VirtualService" : "a version such as networking.istio.io/v1"}${quoteHint(value, report.wordAt?.([name]))}`,
    );
    complete = false;
  }
  if (!complete || typeof apiVersion !== "string" || typeof kind !== "string") return undefined;
  const slash = apiVersion.indexOf("/");
  return {
    apiVersion,
    kind,
    body,
    group: slash < 0 ? "" : apiVersion.slice(0, slash),
    version: apiVersion.slice(slash + 1),
  };
}

/** Reads the namespace and name of an object. Returns undefined if it reported them as invalid. */
export function readManifest(
  envelope: Envelope,
  scope: "namespaced" | "cluster",
  report: Report,
): Manifest | undefined {
  const { apiVersion, kind, body } = envelope;
  const metadata = record(body["metadata"]);
  const name = metadata?.["name"];
  if (!isName(name)) {
    if (metadata === undefined)
      report.error(["metadata"], `is ${describe(body["metadata"])}, expected a mapping with a name`);
    else
      report.error(
        ["metadata", "name"],
        `is ${describe(name)}, expected a name${quoteHint(name, report.wordAt?.(["metadata", "name"]))}`,
      );
    return undefined;
  }
  const given = metadata?.["namespace"] ?? "";
  const namespace = scope === "cluster" ? "" : given === "" ? "default" : given;
  if (scope === "namespaced" && !isName(namespace)) {
    const path = ["metadata", "namespace"];
    report.error(
      path,
      `is ${describe(namespace)}, expected the name of a namespace${quoteHint(namespace, report.wordAt?.(path))}`,
    );
    return undefined;
  }
  return { apiVersion, kind, body, name, namespace: String(namespace) };
}

/** Returns the entries of `metadata.labels` or `metadata.annotations` that the kind keeps. */
export function readKeys(
  manifest: Manifest,
  field: "labels" | "annotations",
  read: KeySelector,
  report: Report,
): Readonly<Record<string, string>> {
  const value = record(manifest.body["metadata"])?.[field] ?? undefined;
  const entries = record(value);
  if (entries === undefined) {
    if (value !== undefined) report.error(["metadata", field], `is ${describe(value)}, expected a mapping`);
    return none;
  }
  const kept: [string, string][] = [];
  for (const [key, v] of Object.entries(entries)) {
    const path = ["metadata", field, key];
    if (typeof v !== "string" && v !== null)
      report.error(path, `is ${describe(v)}, expected a string${quoteHint(v, report.wordAt?.(path))}`);
    else if (read === "all" || read(key)) kept.push([key, v ?? ""]);
  }
  return kept.length === 0 ? none : Object.fromEntries(kept);
}

/** Returns the creation time in milliseconds since the Unix epoch; 0 if absent. */
export function readCreationTimestamp(manifest: Manifest, report: Report): number {
  const value = record(manifest.body["metadata"])?.["creationTimestamp"] ?? undefined;
  if (value === undefined) return 0;
  const time =
    typeof value === "string" && /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$/.test(value)
      ? Date.parse(value)
      : Number.NaN;
  if (!Number.isNaN(time)) return time;
  report.error(
    ["metadata", "creationTimestamp"],
    `is ${describe(value)}, expected a time such as 2024-01-31T12:00:00Z`,
  );
  return 0;
}

const none: Readonly<Record<string, string>> = Object.freeze({});

function isName(value: unknown): value is string {
  return typeof value === "string" && value !== "" && value.length <= 253 && !value.includes("/");
}
