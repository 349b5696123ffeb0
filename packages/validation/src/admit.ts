import type { AdmissionRequest, AdmissionResponse, Admit, JsonObject } from "@istiod/admission";
import {
  type ConfigObject,
  type Decoded,
  formatPath,
  formatSubject,
  gatewayApiKinds,
  type Issue,
  istioKinds,
  type Kind,
  kindsWithoutEffect,
} from "@istiod/config-schema";
import { validate } from "./verdict.js";

/** Reason of a verdict that is not a plain acceptance, as a label of Istio's metric. */
export type FailureReason =
  | "unsupported_operation"
  | "yaml_decode_error"
  | "unknown_type"
  | "crd_conversion_error"
  | "invalid_resource";

/** A decision of the validation webhook. */
export interface ValidationEvent {
  readonly request: Omit<AdmissionRequest, "object" | "oldObject">;
  readonly allowed: boolean;
  /** Set if the object was not validated, or is invalid. */
  readonly reason?: FailureReason;
  /** Message to the author of the object; empty if it is allowed without one. */
  readonly message: string;
  /** The object is invalid by intention: istiod tests whether its webhook answers. */
  readonly isProbe: boolean;
}

/** A valid object that will be stored unless something else denies it. */
export interface AcceptedObject {
  readonly kind: Kind;
  /** Key of the object in the collection of its kind. */
  readonly key: string;
  readonly object: ConfigObject<unknown, unknown>;
}

export interface ValidationOptions {
  /**
   * Returns warnings about an accepted object from what else is known, such as the mesh that it becomes a part of. The
   * object is allowed without them if it rejects. Default: none.
   */
  readonly furtherWarnings?: (accepted: AcceptedObject, warnings: readonly string[]) => Promise<readonly string[]>;
  /** Called with each decision. */
  readonly onDecision?: (event: ValidationEvent) => void;
}

/** Annotation of an object that must be rejected. Istiod tests by it whether its webhook answers. */
export const alwaysRejectAnnotation = "internal.istio.io/webhook-always-reject";

const ineffectiveKinds = kindsWithoutEffect({});

type Outcome = AdmissionResponse & { readonly reason?: FailureReason; readonly accepted?: AcceptedObject };

/**
 * Returns the decisions of Istio's validation webhook. Creations and updates of Istio's kinds are validated, of any
 * version; other operations are allowed; other kinds are denied, except those of the Gateway API. Source:
 * pkg/webhooks/validation/server/server.go.
 */
export function validationWebhook({ onDecision, furtherWarnings }: ValidationOptions = {}): Admit {
  return (request) => {
    const { reason, accepted, ...response } = decide(request);
    const { object: _object, oldObject: _oldObject, ...about } = request;
    onDecision?.({
      request: about,
      allowed: response.allowed,
      message: response.allowed ? "" : response.message,
      isProbe: alwaysRejectAnnotation in annotationsOf(request.object),
      ...(reason !== undefined && { reason }),
    });
    if (accepted === undefined || furtherWarnings === undefined) return response;
    const { warnings = [] } = response;
    return furtherWarnings(accepted, warnings).then(
      (further) => ({ ...response, warnings: [...warnings, ...further] }),
      () => response,
    );
  };
}

function decide({ operation, object, namespace }: AdmissionRequest): Outcome {
  if (operation !== "CREATE" && operation !== "UPDATE") return { allowed: true, reason: "unsupported_operation" };
  if (object === undefined)
    return denied("yaml_decode_error", `cannot decode configuration: request.object is missing in an ${operation}`);
  const type = typeOf(object);
  const gatewayApi = gatewayApiKinds.find(({ kind, group }) => kind === type.kind && group === type.group);
  if (gatewayApi !== undefined) return { allowed: true, warnings: kindWarnings(gatewayApi) };
  if (!istioKinds.some(({ kind, group }) => kind === type.kind && group === type.group))
    return denied("unknown_type", shortened(`unrecognized type ${type.apiVersion || '""'}, Kind=${type.kind || '""'}`));
  const [verdict] = validate(withName(object, namespace), { anyVersion: true });
  if (verdict === undefined) return denied("crd_conversion_error", "cannot decode configuration");
  if (verdict.outcome === "rejected") return rejection(verdict);
  if (verdict.outcome !== "accepted") return { allowed: true, warnings: warningsOf(verdict) };
  const { kind, key, object: decoded } = verdict;
  const warnings = [...kindWarnings(kind), ...warningsOf(verdict)];
  return { allowed: true, warnings, accepted: { kind, key, object: decoded } };
}

/** Returns a warning if objects of a kind have no effect wherever istiod runs. */
function kindWarnings(kind: Kind | undefined): readonly string[] {
  const reason = kind && ineffectiveKinds.get(kind);
  return reason === undefined ? [] : [`${kind?.kind} has no effect: ${reason}`];
}

function typeOf({ apiVersion, kind }: JsonObject): { apiVersion: string; group: string; kind: string } {
  const text = typeof apiVersion === "string" ? apiVersion : "";
  return {
    apiVersion: text,
    group: text.includes("/") ? text.slice(0, text.indexOf("/")) : "",
    kind: typeof kind === "string" ? kind : "",
  };
}

/** Returns an object with the name that the server will generate, and the namespace of the request. */
export function withName(object: JsonObject, namespace: string): JsonObject {
  const metadata = object["metadata"] ?? {};
  if (typeof metadata !== "object" || Array.isArray(metadata)) return object;
  const { name = "", generateName = "", namespace: own = "", ...rest } = metadata as JsonObject;
  const isGenerated = name === "" && typeof generateName === "string" && generateName !== "";
  return {
    ...object,
    metadata: {
      ...rest,
      ...(generateName !== "" && { generateName }),
      name: isGenerated ? `${generateName.slice(0, maxGeneratedPrefix)}xxxxx` : name,
      namespace: own === "" ? namespace : own,
    },
  };
}

/** Longest part of `generateName` that an API server keeps. */
const maxGeneratedPrefix = 58;

function annotationsOf(object: JsonObject | undefined): object {
  const { annotations } = (object?.["metadata"] ?? {}) as { readonly annotations?: unknown };
  return typeof annotations === "object" && annotations !== null ? annotations : {};
}

/** Most faults that a message lists. */
const maxListed = 20;

function rejection(verdict: Decoded): Outcome {
  const faults = verdict.issues.filter(({ severity }) => severity === "error");
  const subject = verdict.subject === undefined ? "" : formatSubject(verdict.subject);
  const lines = faults.slice(0, maxListed).map(formatIssue);
  const more = faults.length > maxListed ? [`and ${faults.length - maxListed} more`] : [];
  const text =
    lines.length === 1
      ? [subject, ...lines].filter((part) => part !== "").join(": ")
      : [`${subject} has ${faults.length} faults:`, ...[...lines, ...more].map((line) => `  * ${line}`)].join("\n");
  return {
    allowed: false,
    reason: "invalid_resource",
    message: `configuration is invalid: ${text}`,
    causes: faults
      .slice(0, maxListed)
      .map(({ path, message }) => ({ field: shortened(pathText(path)), message: shortened(message) })),
    warnings: warningsOf(verdict),
  };
}

function denied(reason: FailureReason, message: string): Outcome {
  return { allowed: false, reason, message };
}

function warningsOf(verdict: Decoded): readonly string[] {
  return listed(verdict.issues.filter(({ severity }) => severity === "warning").map(formatIssue));
}

/** Returns the first of many warnings, and how many more there are. */
export function listed(warnings: readonly string[]): readonly string[] {
  return warnings.length > maxListed
    ? [...warnings.slice(0, maxListed), `and ${warnings.length - maxListed} more warnings`]
    : warnings;
}

/** Formats a fault as a line of a message. */
export function formatIssue({ path, message }: Issue): string {
  const field = formatPath(path);
  return shortened(field === "" ? message : `${field}: ${message}`);
}

/** Longest line of a message in characters: keys of maps, which users choose, are quoted in it. */
const maxLine = 1000;

function shortened(text: string): string {
  return text.length > maxLine ? `${text.slice(0, maxLine)}…` : text;
}

/** Formats the whole path of a field, as Kubernetes does. */
function pathText(path: Issue["path"]): string {
  return path[0] === "spec" && path.length > 1 ? `spec.${formatPath(path)}` : formatPath(path);
}
