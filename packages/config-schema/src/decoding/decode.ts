import type { ConfigObject } from "../config-object.js";
import { allKinds } from "../kinds/all-kinds.js";
import type { Kind, Manifest } from "../kinds/kind.js";
import { readNegativeConditions } from "./conditions.js";
import { record } from "./json.js";
import { readCreationTimestamp, readEnvelope, readKeys, readManifest, type Envelope } from "./manifest.js";
import { faultOfUnknownKind } from "./unknown-kind.js";
import type { FieldPath, Report, IssueCode } from "./report.js";

export interface DecodeOptions {
  /** ID of the cluster that the documents are from. Default `Kubernetes`, as istiod's own. */
  readonly cluster?: string;
  /** The kinds that are read; others are ignored. Default: all. */
  readonly kinds?: readonly Kind[];
  /**
   * Objects of Istio's that are labelled as another revision's (`istio.io/rev`) are ignored. Default: empty, all are
   * read.
   */
  readonly revision?: string;
  /**
   * Accept objects that can be decoded although validation rejects them, so that analysis finds everything at once.
   * Default false.
   */
  readonly acceptInvalid?: boolean;
  /** Returns the unquoted word that the document's text has at a path, for messages: `y` for true. Default: unknown. */
  readonly wordAt?: (path: FieldPath) => string | undefined;
}

/** The cluster ID of an istiod that is given none. */
const defaultCluster = "Kubernetes";

/** Something that was found wrong, at a path from the root of its document. */
export interface Issue {
  readonly severity: "error" | "warning";
  readonly path: FieldPath;
  readonly message: string;
  readonly code?: IssueCode;
}

/** An object that is named, whether or not it could be read. */
export interface Subject {
  readonly group: string;
  readonly kind: string;
  /** Empty for cluster-scoped kinds. */
  readonly namespace: string;
  readonly name: string;
}

/** What became of one object of a document. */
export type Decoded =
  | {
      readonly outcome: "accepted";
      readonly subject: Subject;
      readonly kind: Kind;
      readonly key: string;
      readonly object: ConfigObject<unknown, unknown>;
      readonly issues: readonly Issue[];
      readonly path: FieldPath;
    }
  | {
      readonly outcome: "refused";
      readonly subject?: Subject;
      readonly kind?: Kind;
      readonly key?: string;
      readonly issues: readonly Issue[];
      readonly path: FieldPath;
    }
  | {
      readonly outcome: "ignored";
      readonly kind: string;
      readonly subject?: Subject;
      /** The reason why it is not read, where its author is likely to expect that it is. */
      readonly issues: readonly Issue[];
      readonly path: FieldPath;
    };

/**
 * Decodes and validates one document, as parsed from YAML or JSON. A `List` gives one outcome for each of its items, an
 * empty document none. Never throws for the sake of the document.
 */
export function decode(document: unknown, options: DecodeOptions = {}): readonly Decoded[] {
  return document === null || document === undefined ? [] : decodeAt([], document, options);
}

function decodeAt(path: FieldPath, document: unknown, options: DecodeOptions): readonly Decoded[] {
  const issues: Issue[] = [];
  const report = collectAt(path, issues, options);
  const envelope = readEnvelope(document, report);
  if (envelope === undefined) return [{ outcome: "refused", issues, path }];
  const items = envelope.body["items"];
  if (envelope.kind.endsWith("List") && Array.isArray(items)) {
    return items.flatMap((item: unknown, i) => decodeAt([...path, "items", i], withListKind(item, envelope), options));
  }
  return [decodeObject(path, envelope, issues, report, options)];
}

function decodeObject(
  path: FieldPath,
  envelope: Envelope,
  issues: Issue[],
  report: Report,
  options: DecodeOptions,
): Decoded {
  const named = (options.kinds ?? allKinds).find((k) => k.kind === envelope.kind && k.group === envelope.group);
  if (named === undefined) return unread(path, envelope);
  const manifest = readManifest(envelope, named.scope, report);
  if (manifest === undefined) return { outcome: "refused", issues, path };
  const { namespace, name } = manifest;
  const subject: Subject = { group: envelope.group, kind: envelope.kind, namespace, name };
  const cluster = options.cluster ?? defaultCluster;
  const key = named.key({ cluster, namespace, name });
  const refused: Decoded = { outcome: "refused", subject, kind: named, key, issues, path };
  if (!named.versions.includes(envelope.version)) {
    report.error(
      ["apiVersion"],
      `is ${envelope.apiVersion}, expected ${named.versions.map((v) => (named.group === "" ? v : `${named.group}/${v}`)).join(" or ")}`,
    );
    return refused;
  }
  const revision = revisionOf(named, manifest);
  if (options.revision && revision !== undefined && revision !== options.revision)
    return { outcome: "ignored", kind: `${envelope.kind} of revision ${revision}`, issues: [], path };
  if (named.skip?.(manifest) === true) return { outcome: "ignored", kind: envelope.kind, issues: [], path };
  const content = named.decode(manifest, report);
  const conditions = named.conditions === undefined ? [] : readNegativeConditions(manifest, named.conditions);
  const object: ConfigObject<unknown, unknown> = {
    kind: envelope.kind,
    namespace,
    name,
    labels: readKeys(manifest, "labels", named.labels, report),
    annotations: readKeys(manifest, "annotations", named.annotations, report),
    creationTimestamp: readCreationTimestamp(manifest, report),
    spec: content?.spec,
    ...(content?.status !== undefined && { status: content.status }),
    ...(conditions.length > 0 && { conditions }),
    cluster,
  };
  if (content !== undefined && !issues.some((i) => i.severity === "error")) named.validate?.(object, report);
  if (content === undefined || (options.acceptInvalid !== true && issues.some((i) => i.severity === "error")))
    return refused;
  return { outcome: "accepted", subject, kind: named, key, object, issues, path };
}

/**
 * The outcome for an object of a kind that is not read. It defines nothing, so it takes nothing else of its file with
 * it.
 */
function unread(path: FieldPath, envelope: Envelope): Decoded {
  const fault = allKinds.some((known) => known.kind === envelope.kind && known.group === envelope.group)
    ? undefined
    : faultOfUnknownKind(envelope);
  const metadata = record(envelope.body["metadata"]) ?? {};
  const text = (name: string): string => (typeof metadata[name] === "string" ? metadata[name] : "");
  const subject = { group: envelope.group, kind: envelope.kind, namespace: text("namespace"), name: text("name") };
  const issues = fault === undefined ? [] : [{ ...fault, path: [...path, ...fault.path] }];
  return { outcome: "ignored", kind: envelope.kind, subject, issues, path };
}

/** The only revision that is to read an object; undefined: all are. */
function revisionOf({ group }: Kind, { body }: Manifest): string | undefined {
  const revision = group.endsWith(".istio.io")
    ? record(record(body["metadata"])?.["labels"])?.["istio.io/rev"]
    : undefined;
  return typeof revision === "string" ? revision : undefined;
}

function collectAt(at: FieldPath, issues: Issue[], { wordAt }: DecodeOptions): Report {
  return {
    error: (path, message) => void issues.push({ severity: "error", path: [...at, ...path], message }),
    warning: (path, message, code) =>
      void issues.push({ severity: "warning", path: [...at, ...path], message, ...(code !== undefined && { code }) }),
    wordAt: wordAt && ((path) => wordAt([...at, ...path])),
  };
}

/** Items of a typed list, such as `PodList`, may leave out what the list's own kind says. */
function withListKind(item: unknown, list: Envelope): unknown {
  const fields = record(item);
  if (fields === undefined || list.kind === "List" || fields["kind"] !== undefined) return item;
  return { ...fields, kind: list.kind.slice(0, -"List".length), apiVersion: list.apiVersion };
}
