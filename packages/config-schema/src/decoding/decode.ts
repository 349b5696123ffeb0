import { reasonOf } from "@istiod/runtime";
import type { ConfigObject } from "../config-object.js";
import { allKinds } from "../kinds/all-kinds.js";
import { type ObjectOfOtherRevision, otherRevisionOf } from "../other-revisions.js";
import type { Kind, Manifest } from "../kinds/kind.js";
import type { ProductBounds } from "../mesh/product-bounds.js";
import { readNegativeConditions } from "./conditions.js";
import { record } from "./json.js";
import {
  readCreationTimestamp,
  readEnvelope,
  readKeys,
  readManifest,
  readGeneration,
  readResourceVersion,
  type Envelope,
} from "./manifest.js";
import { failClosed, readableName, readableNamespace } from "./fail-closed.js";
import { withShortQuotes } from "./short-quotes.js";
import { unknownKindFault } from "./unknown-kind.js";
import type { FieldPath, Report, IssueCode } from "./report.js";

export interface DecodeOptions {
  /** ID of the cluster that the documents belong to. Default `Kubernetes`, istiod's own. */
  readonly cluster?: string;
  /** Kinds to read; others are ignored. Default: all. */
  readonly kinds?: readonly Kind[];
  /**
   * Revision of this control plane: Istio's objects that are labelled with another (`istio.io/rev`) are ignored.
   * Default: empty, all are read.
   */
  readonly revision?: string;
  /**
   * Accepts objects that can be decoded although validation rejects them, so that analysis finds everything at once.
   * Default false.
   */
  readonly acceptInvalid?: boolean;
  /** Bounds of products of lists of one object. Default: those that the environment of the process sets. */
  readonly bounds?: ProductBounds;
  /**
   * Accepts any version of a kind's group, since all versions have the same fields: a later one, which this istiod does
   * not read, can be validated. Default false.
   */
  readonly anyVersion?: boolean;
  /** Returns the unquoted word in the document's text at a path, for messages: `y` for true. Default: unknown. */
  readonly wordAt?: (path: FieldPath) => string | undefined;
}

/** Cluster ID of an istiod that is configured with none. */
const defaultCluster = "Kubernetes";

/** A fault at a path from the root of its document. */
export interface Issue {
  readonly severity: "error" | "warning";
  readonly path: FieldPath;
  readonly message: string;
  readonly code?: IssueCode;
}

/** The identity of an object, whether or not it could be decoded. */
export interface Subject {
  readonly group: string;
  readonly kind: string;
  /** Empty for cluster-scoped kinds. */
  readonly namespace: string;
  readonly name: string;
}

/** Outcome of decoding one object of a document. */
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
      readonly outcome: "rejected";
      readonly subject?: Subject;
      readonly kind?: Kind;
      readonly key?: string;
      /** The object that applies instead if there is no good version. Its name is empty if it cannot be read. */
      readonly substitute?: ConfigObject<unknown, unknown>;
      readonly issues: readonly Issue[];
      readonly path: FieldPath;
    }
  | {
      readonly outcome: "ignored";
      readonly kind: string;
      readonly subject?: Subject;
      /** The reason why the object is ignored, where its author likely expects otherwise. */
      readonly issues: readonly Issue[];
      /** Set for an object of another revision. */
      readonly other?: { readonly kind: Kind; readonly key: string; readonly object: ObjectOfOtherRevision };
      readonly path: FieldPath;
    };

/**
 * Decodes and validates one document, as parsed from YAML or JSON. A `List` yields an outcome for each of its items, an
 * empty document none. Never throws because of the document.
 */
export function decode(document: unknown, options: DecodeOptions = {}): readonly Decoded[] {
  return document === null || document === undefined ? [] : decodeAt([], document, options);
}

function decodeAt(path: FieldPath, document: unknown, options: DecodeOptions): readonly Decoded[] {
  const issues: Issue[] = [];
  const report = collectAt(path, issues, options);
  const envelope = readEnvelope(document, report);
  if (envelope === undefined) return [{ outcome: "rejected", issues, path }];
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
  const kind = (options.kinds ?? allKinds).find((k) => k.kind === envelope.kind && k.group === envelope.group);
  if (kind === undefined) return unreadKind(path, envelope, options);
  const manifest = readManifest(envelope, kind, report);
  const substituted = (): Partial<Extract<Decoded, { outcome: "rejected" }>> => {
    const substitute = substituteOf(kind, envelope.body, options);
    return substitute === undefined ? {} : { kind, substitute };
  };
  if (manifest === undefined) return { outcome: "rejected", issues, path, ...substituted() };
  const { namespace, name } = manifest;
  const subject: Subject = { group: envelope.group, kind: envelope.kind, namespace, name };
  const cluster = options.cluster ?? defaultCluster;
  const key = kind.key({ cluster, namespace, name });
  const rejected = (): Decoded => ({ outcome: "rejected", subject, kind, key, issues, path, ...substituted() });
  if (options.anyVersion !== true && !kind.versions.includes(envelope.version)) {
    report.error(
      ["apiVersion"],
      `is ${envelope.apiVersion}, expected ${kind.versions.map((v) => (kind.group === "" ? v : `${kind.group}/${v}`)).join(" or ")}`,
    );
    return rejected();
  }
  const revision = otherRevisionOf(kind, manifest.body, options.revision);
  if (revision !== undefined) {
    const other = { kind, key, object: { namespace, name, revision, own: options.revision ?? "" } };
    return { outcome: "ignored", kind: `${envelope.kind} of revision ${revision}`, subject, issues: [], path, other };
  }
  try {
    if (kind.skip?.(manifest) === true) return { outcome: "ignored", kind: envelope.kind, issues: [], path };
    const object = readObject(kind, manifest, cluster, issues, report);
    const isInvalid = issues.some((i) => i.severity === "error");
    if (object === undefined || (options.acceptInvalid !== true && isInvalid)) return rejected();
    return { outcome: "accepted", subject, kind, key, object, issues, path };
  } catch (error) {
    report.error([], `cannot be read: ${reasonOf(error)}`);
    return rejected();
  }
}

/** Decodes and validates the content of an object; undefined if it cannot be decoded. */
function readObject(
  kind: Kind,
  manifest: Manifest,
  cluster: string,
  issues: readonly Issue[],
  report: Report,
): ConfigObject<unknown, unknown> | undefined {
  const content = kind.decode(manifest, report);
  const conditions = kind.conditions === undefined ? [] : readNegativeConditions(manifest, kind.conditions);
  const object: ConfigObject<unknown, unknown> = {
    kind: manifest.kind,
    namespace: manifest.namespace,
    name: manifest.name,
    labels: readKeys(manifest, "labels", kind.labels, report),
    annotations: readKeys(manifest, "annotations", kind.annotations, report),
    creationTimestamp: readCreationTimestamp(manifest, report),
    ...(kind.hasVersions && { resourceVersion: readResourceVersion(manifest) }),
    ...(kind.hasGeneration && readGeneration(manifest)),
    spec: content?.spec,
    ...(content?.status !== undefined && { status: content.status }),
    ...(conditions.length > 0 && { conditions }),
    cluster,
  };
  if (content !== undefined && !issues.some((i) => i.severity === "error")) kind.validate?.(object, report);
  return content && object;
}

/**
 * Returns the outcome for an object of a kind that is not read. It does not affect other objects of its file, unless
 * its kind is a misspelled one that restricts: then it is a rejected object of that kind.
 */
function unreadKind(path: FieldPath, envelope: Envelope, options: DecodeOptions): Decoded {
  const fault = allKinds.some((known) => known.kind === envelope.kind && known.group === envelope.group)
    ? undefined
    : unknownKindFault(envelope);
  const metadata = record(envelope.body["metadata"]) ?? {};
  const text = (name: string): string => (typeof metadata[name] === "string" ? metadata[name] : "");
  const subject = { group: envelope.group, kind: envelope.kind, namespace: text("namespace"), name: text("name") };
  if (fault === undefined) return { outcome: "ignored", kind: envelope.kind, subject, issues: [], path };
  const { meant, ...issue } = fault;
  const issues = [{ ...issue, path: [...path, ...issue.path] }];
  const substitute = meant && substituteOf(meant, envelope.body, options);
  if (meant !== undefined && substitute !== undefined) {
    const key = meant.key(substitute);
    return {
      outcome: "rejected",
      subject,
      kind: meant,
      ...(substitute.name !== "" && { key }),
      substitute,
      issues,
      path,
    };
  }
  return { outcome: "ignored", kind: envelope.kind, subject, issues, path };
}

/** Returns the substitute of a rejected object of a kind that restricts, if the namespace can be read. */
function substituteOf(
  kind: Kind,
  body: Manifest["body"],
  options: DecodeOptions,
): ConfigObject<unknown, unknown> | undefined {
  const { cluster = defaultCluster, kinds, revision, acceptInvalid = false } = options;
  if (kind.failClosed === undefined || acceptInvalid || kinds?.includes(kind) === false) return undefined;
  if (otherRevisionOf(kind, body, revision) !== undefined) return undefined;
  const namespace = readableNamespace(body);
  if (namespace === undefined) return undefined;
  return failClosed(kind, { namespace, name: readableName(body), cluster }, body);
}

function collectAt(at: FieldPath, issues: Issue[], { wordAt, bounds }: DecodeOptions): Report {
  return {
    bounds,
    error: (path, message) =>
      void issues.push({ severity: "error", path: [...at, ...path], message: withShortQuotes(message) }),
    warning: (path, message, code) =>
      void issues.push({
        severity: "warning",
        path: [...at, ...path],
        message: withShortQuotes(message),
        ...(code !== undefined && { code }),
      }),
    wordAt: wordAt && ((path) => wordAt([...at, ...path])),
  };
}

/** Adds kind and version to an item of a typed list, such as `PodList`, which may omit them. */
function withListKind(item: unknown, list: Envelope): unknown {
  const fields = record(item);
  if (fields === undefined || list.kind === "List" || fields["kind"] !== undefined) return item;
  return { ...fields, kind: list.kind.slice(0, -"List".length), apiVersion: list.apiVersion };
}
