import type { AdmissionReview } from "./review.js";

/** An operation of a JSON patch (RFC 6902). */
export type JsonPatchOperation =
  | { readonly op: "add" | "replace" | "test"; readonly path: string; readonly value: unknown }
  | { readonly op: "remove"; readonly path: string };

interface AnswerDetails {
  /** Messages that clients show to their users, at best of 120 characters at most. */
  readonly warnings?: readonly string[];
  /** Entries of the audit log; the server prefixes keys with the name of the webhook. */
  readonly auditAnnotations?: Readonly<Record<string, string>>;
}

/** The write may be executed, with the changes of a patch. */
export interface Allowed extends AnswerDetails {
  readonly allowed: true;
  /** Only for mutating webhooks. Empty or absent: no change. */
  readonly patch?: readonly JsonPatchOperation[];
}

/** The write is rejected. */
export interface Denied extends AnswerDetails {
  readonly allowed: false;
  /** The reason, for the author of the object. */
  readonly message: string;
  /** HTTP status of the server's answer to its client. Default: the server's own, 400. */
  readonly code?: number;
  /** Single faults, for programs. */
  readonly causes?: readonly StatusCause[];
}

/** A fault of an object, as in `details.causes` of Kubernetes' Status. */
export interface StatusCause {
  /** Path of the field: `spec.http[0].timeout`. */
  readonly field: string;
  readonly message: string;
}

/** The answer to an AdmissionRequest. */
export type AdmissionResponse = Allowed | Denied;

/** Returns the AdmissionReview that answers another, as JSON. */
export function encodeReview({ apiVersion, request }: AdmissionReview, response: AdmissionResponse): string {
  const { allowed, warnings = [], auditAnnotations = {} } = response;
  return JSON.stringify({
    kind: "AdmissionReview",
    apiVersion,
    response: {
      uid: request.uid,
      allowed,
      ...(response.allowed ? patchOf(response) : { status: statusOf(response) }),
      ...(warnings.length > 0 && { warnings }),
      ...(Object.keys(auditAnnotations).length > 0 && { auditAnnotations }),
    },
  });
}

function patchOf({ patch = [] }: Allowed): object {
  if (patch.length === 0) return {};
  return { patchType: "JSONPatch", patch: Buffer.from(JSON.stringify(patch)).toString("base64") };
}

function statusOf({ message, code, causes = [] }: Denied): object {
  return {
    status: "Failure",
    message,
    ...(code !== undefined && { code }),
    ...(causes.length > 0 && {
      details: { causes: causes.map((cause) => ({ reason: "FieldValueInvalid", ...cause })) },
    }),
  };
}
