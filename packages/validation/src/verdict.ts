import type { Message } from "@bufbuild/protobuf";
import {
  type ConfigObject,
  decode,
  type Decoded,
  type DecodeOptions,
  type EnvoyFilterObject,
  envoyFilterKind,
  type FieldPath,
  ineffectiveFields,
  type Issue,
  istioKinds,
  type Kind,
  type Report,
  withoutName,
  withShortQuotes,
} from "@istiod/config-schema";
import { checkEnvoyFilter } from "./envoy-filter.js";

/** Options of {@link validate}. */
export type ValidateOptions = Pick<DecodeOptions, "anyVersion" | "wordAt">;

/**
 * Validates one document: the verdict of the decoder by which istiod reads configuration, and in addition the values of
 * EnvoyFilter patches and the fields beside `spec`. A List yields a verdict for each item. Objects of other kinds than
 * Istio's are ignored. Never throws because of the document.
 */
export function validate(document: unknown, options: ValidateOptions = {}): readonly Decoded[] {
  return decode(document, { ...options, kinds: istioKinds }).map((decoded) => withFurtherChecks(decoded, document));
}

function withFurtherChecks(decoded: Decoded, document: unknown): Decoded {
  if (decoded.outcome === "ignored" || decoded.kind === undefined) return decoded;
  const issues: Issue[] = [...unknownFields(valueAt(document, decoded.path), decoded.path)];
  if (decoded.outcome === "accepted") issues.push(...withoutEffect(decoded.kind, decoded.object, decoded.path));
  if (decoded.outcome === "accepted" && decoded.kind === envoyFilterKind)
    checkEnvoyFilter(decoded.object as EnvoyFilterObject, collectAt(decoded.path, issues));
  if (issues.length === 0) return decoded;
  const all = [...decoded.issues, ...issues];
  if (decoded.outcome === "rejected" || !issues.some(({ severity }) => severity === "error"))
    return { ...decoded, issues: all };
  const { subject, kind, key, path } = decoded;
  return { outcome: "rejected", subject, kind, key, issues: all, path };
}

/** Returns warnings about fields that have no effect. */
function withoutEffect(kind: Kind, { spec }: ConfigObject<unknown, unknown>, at: FieldPath): readonly Issue[] {
  const found = kind.schema === undefined ? [] : ineffectiveFields(kind.schema, spec as Message, [...at, "spec"]);
  return found.map(({ path, message }) => ({
    severity: "warning",
    path,
    message: withoutName(message),
    code: "unsupported-field",
  }));
}

const knownFields: ReadonlySet<string> = new Set(["apiVersion", "kind", "metadata", "spec", "status"]);

function unknownFields(object: unknown, at: FieldPath): readonly Issue[] {
  return Object.keys(object as object)
    .filter((name) => !knownFields.has(name))
    .map((name) => ({
      severity: "error",
      path: [...at, name],
      message: "is unknown, expected apiVersion, kind, metadata, spec or status",
    }));
}

function valueAt(document: unknown, path: FieldPath): unknown {
  return path.reduce((value, part) => (value as Readonly<Record<string | number, unknown>>)[part], document);
}

function collectAt(at: FieldPath, issues: Issue[]): Report {
  return {
    error: (path, message) =>
      void issues.push({ severity: "error", path: [...at, ...path], message: withShortQuotes(message) }),
    warning: (path, message) =>
      void issues.push({ severity: "warning", path: [...at, ...path], message: withShortQuotes(message) }),
  };
}
