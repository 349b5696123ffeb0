import type { KeySelector, Kind, Manifest, NameRule } from "../kinds/kind.js";
import {
  expectedLabel,
  expectedLabelKey,
  expectedLabelValue,
  expectedSubdomain,
} from "../validation/kubernetes/fields.js";
import {
  isLabelKey,
  isLabelValue,
  isLowerCaseLabel,
  isMixedCaseSubdomain,
  isSubdomain,
} from "../validation/kubernetes/names.js";
import { describe } from "./fields.js";
import { record } from "./json.js";
import { timeOf } from "./time.js";
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
  { scope, nameRule = "subdomain" }: Pick<Kind, "scope" | "nameRule">,
  report: Report,
): Manifest | undefined {
  const { apiVersion, kind, body } = envelope;
  const metadata = record(body["metadata"]);
  const name = metadata?.["name"];
  if (typeof name !== "string" || !nameChecks[nameRule](name)) {
    if (metadata === undefined)
      report.error(["metadata"], `is ${describe(body["metadata"])}, expected a mapping with a name`);
    else
      report.error(
        ["metadata", "name"],
        `is ${describe(name)}, expected ${typeof name === "string" ? expectedNames[nameRule] : "a name"}${quoteHint(name, report.wordAt?.(["metadata", "name"]))}`,
      );
    return undefined;
  }
  if (nameRule === "mixedCaseSubdomain" && !isSubdomain(name))
    report.warning(
      ["metadata", "name"],
      `is ${describe(name)}, which Kubernetes rejects: expected ${expectedSubdomain}`,
    );
  const given = metadata?.["namespace"] ?? "";
  const namespace = scope === "cluster" ? "" : given === "" ? "default" : given;
  if (scope === "namespaced" && !(typeof namespace === "string" && isLowerCaseLabel(namespace))) {
    const path = ["metadata", "namespace"];
    report.error(
      path,
      `is ${describe(namespace)}, expected the name of a namespace${typeof namespace === "string" ? `: ${expectedLabel}` : ""}${quoteHint(namespace, report.wordAt?.(path))}`,
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
  let size = 0;
  for (const [key, v] of Object.entries(entries)) {
    const path = ["metadata", field, key];
    if (typeof v !== "string" && v !== null)
      report.error(path, `is ${describe(v)}, expected a string${quoteHint(v, report.wordAt?.(path))}`);
    else {
      const fault = field === "labels" ? labelFault(key, v ?? "") : annotationFault(key);
      if (fault !== undefined) report.error(path, fault);
      else if (read === "all" || read(key)) kept.push([key, v ?? ""]);
      size += Buffer.byteLength(key) + Buffer.byteLength(v ?? "");
    }
  }
  if (field === "annotations" && size > maxAnnotationsSize)
    report.error(["metadata", field], `has ${size} bytes, expected at most ${maxAnnotationsSize}`);
  return kept.length === 0 ? none : Object.fromEntries(kept);
}

function labelFault(key: string, value: string): string | undefined {
  if (!isLabelKey(key)) return `has the key ${describe(key)}, expected ${expectedLabelKey}`;
  return isLabelValue(value) ? undefined : `is ${describe(value)}, expected ${expectedLabelValue}`;
}

/** Returns the fault of an annotation's key, which is a label's key except for its case. */
function annotationFault(key: string): string | undefined {
  return isLabelKey(key.toLowerCase()) ? undefined : `has the key ${describe(key)}, expected ${expectedLabelKey}`;
}

/** Returns the creation time in milliseconds since the Unix epoch; 0 if absent. */
export function readCreationTimestamp(manifest: Manifest, report: Report): number {
  const value = record(manifest.body["metadata"])?.["creationTimestamp"] ?? undefined;
  if (value === undefined) return 0;
  const time = typeof value === "string" ? timeOf(value) : undefined;
  if (time !== undefined) return time;
  report.error(
    ["metadata", "creationTimestamp"],
    `is ${describe(value)}, expected a time such as 2024-01-31T12:00:00Z`,
  );
  return 0;
}

const none: Readonly<Record<string, string>> = Object.freeze({});

const nameChecks: Readonly<Record<NameRule, (name: string) => boolean>> = {
  label: isLowerCaseLabel,
  subdomain: isSubdomain,
  mixedCaseSubdomain: isMixedCaseSubdomain,
};

const expectedNames: Readonly<Record<NameRule, string>> = {
  label: expectedLabel,
  subdomain: expectedSubdomain,
  mixedCaseSubdomain: expectedSubdomain,
};

/** Maximum size of all annotations of an object in bytes, with their keys. */
const maxAnnotationsSize = 256 * 1024;

/** Returns the generation of the object by the API server, if it is known. */
export function readGeneration(manifest: Manifest): { readonly generation?: number } {
  const generation = record(manifest.body["metadata"])?.["generation"];
  return typeof generation === "number" ? { generation } : {};
}

/** Returns the version of the object by the API server; empty if it is unknown. */
export function readResourceVersion(manifest: Manifest): string {
  const value = record(manifest.body["metadata"])?.["resourceVersion"];
  return typeof value === "string" ? value : "";
}
