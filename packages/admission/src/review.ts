import { AdmissionError } from "./errors.js";
import { isJsonObject, type JsonObject, parseJson } from "./json.js";

/** Versions of AdmissionReview. The answer has the version of the request. */
export type ReviewVersion = "admission.k8s.io/v1" | "admission.k8s.io/v1beta1";

const versions: readonly string[] = ["admission.k8s.io/v1", "admission.k8s.io/v1beta1"] satisfies ReviewVersion[];

export interface GroupVersionKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

export interface GroupVersionResource {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
}

/** Operations of admission control. An API server may add others. */
export type AdmissionOperation = "CREATE" | "UPDATE" | "DELETE" | "CONNECT" | (string & {});

/** The write that an API server asks about. */
export interface AdmissionRequest {
  readonly uid: string;
  readonly kind: GroupVersionKind;
  readonly resource: GroupVersionResource;
  readonly subResource: string;
  /** Empty if the server generates the name. */
  readonly name: string;
  /** Empty for cluster-scoped objects. */
  readonly namespace: string;
  readonly operation: AdmissionOperation;
  /** Name of the user; empty if it is absent. */
  readonly user: string;
  /** The object as it would be stored; undefined for DELETE. */
  readonly object: JsonObject | undefined;
  /** The stored object; undefined for CREATE. */
  readonly oldObject: JsonObject | undefined;
  /** True if nothing will be stored. */
  readonly dryRun: boolean;
}

/** An AdmissionReview with a request. */
export interface AdmissionReview {
  readonly apiVersion: ReviewVersion;
  readonly request: AdmissionRequest;
}

export interface ReviewLimits {
  /** Maximum nesting of the JSON. Default 256. */
  readonly maxDepth?: number;
  /** Maximum number of members and elements in the JSON. Default: none. */
  readonly maxValues?: number;
}

/**
 * Reads an AdmissionReview of version v1 or v1beta1.
 *
 * @throws AdmissionError `malformed` or `unsupported`, naming the field, or `too-large`
 */
export function readReview(
  body: Uint8Array,
  { maxDepth = 256, maxValues = Infinity }: ReviewLimits = {},
): AdmissionReview {
  const review = parseJson(body, { maxDepth, maxValues });
  if (!isJsonObject(review)) throw malformed("the body", review, "an AdmissionReview");
  const { kind, apiVersion } = review;
  if (kind !== "AdmissionReview") throw unsupported("kind", kind, "AdmissionReview");
  if (!isReviewVersion(apiVersion)) throw unsupported("apiVersion", apiVersion, versions.join(" or "));
  return { apiVersion, request: readRequest(review["request"]) };
}

function readRequest(request: unknown): AdmissionRequest {
  if (!isJsonObject(request)) throw malformed("request", request, "an object");
  const uid = stringOf(request, "uid");
  if (uid === "") throw malformed("request.uid", request["uid"], "a string");
  const operation = stringOf(request, "operation");
  if (operation === "") throw malformed("request.operation", request["operation"], "CREATE, UPDATE, DELETE or CONNECT");
  const user = objectOf(request, "userInfo") ?? {};
  return {
    uid,
    kind: readType(request, "kind", ["group", "version", "kind"]),
    resource: readType(request, "resource", ["group", "version", "resource"]),
    subResource: stringOf(request, "subResource"),
    name: stringOf(request, "name"),
    namespace: stringOf(request, "namespace"),
    operation,
    user: stringOf(user, "username", "request.userInfo"),
    object: objectOf(request, "object"),
    oldObject: objectOf(request, "oldObject"),
    dryRun: booleanOf(request, "dryRun"),
  };
}

function readType<K extends string>(
  request: JsonObject,
  field: string,
  keys: readonly K[],
): Readonly<Record<K, string>> {
  const type = objectOf(request, field) ?? {};
  return Object.fromEntries(keys.map((key) => [key, stringOf(type, key, `request.${field}`)])) as Record<K, string>;
}

/** Returns a string; empty if it is absent. */
function stringOf(object: JsonObject, key: string, place = "request"): string {
  const value = object[key] ?? "";
  if (typeof value !== "string") throw malformed(`${place}.${key}`, value, "a string");
  return value;
}

function booleanOf(object: JsonObject, key: string): boolean {
  const value = object[key] ?? false;
  if (typeof value !== "boolean") throw malformed(`request.${key}`, value, "true or false");
  return value;
}

function objectOf(object: JsonObject, key: string): JsonObject | undefined {
  const value = object[key] ?? undefined;
  if (value !== undefined && !isJsonObject(value)) throw malformed(`request.${key}`, value, "an object");
  return value;
}

function isReviewVersion(value: unknown): value is ReviewVersion {
  return typeof value === "string" && versions.includes(value);
}

function malformed(place: string, value: unknown, expected: string): AdmissionError {
  return new AdmissionError("malformed", faultOf(place, value, expected));
}

function unsupported(place: string, value: unknown, expected: string): AdmissionError {
  return new AdmissionError("unsupported", faultOf(place, value, expected));
}

function faultOf(place: string, value: unknown, expected: string): string {
  const found = value === undefined || value === "" ? "missing" : brief(value);
  return `${place} is ${found}, expected ${expected}`;
}

/** Longest excerpt of a value in a message, in characters. */
const maxExcerpt = 60;

function brief(value: unknown): string {
  if (Array.isArray(value)) return "a list";
  if (isJsonObject(value)) return "an object";
  const text = JSON.stringify(value);
  return text.length > maxExcerpt ? `${text.slice(0, maxExcerpt)}…` : text;
}
