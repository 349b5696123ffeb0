import { ApiError, type ApiErrorCode } from "../../api-error.js";
import type { JsonObject } from "../storage/object.js";
import { qualifiedResource, type ServedType } from "../discovery/served-type.js";

export interface StatusCause {
  readonly reason?: string;
  readonly message?: string;
  readonly field?: string;
}

export interface StatusDetails {
  readonly name?: string;
  readonly group?: string;
  readonly kind?: string;
  readonly uid?: string;
  readonly causes?: readonly StatusCause[];
  readonly retryAfterSeconds?: number;
}

/** The API's answer to a request that failed. */
export interface Status {
  readonly kind: "Status";
  readonly apiVersion: "v1";
  readonly metadata: JsonObject;
  readonly status: "Failure" | "Success";
  readonly message?: string;
  readonly reason?: string;
  readonly details?: StatusDetails;
  readonly code?: number;
}

type ResourceName = Pick<ServedType, "group" | "plural">;

const codes: Readonly<Record<string, ApiErrorCode>> = {
  Unauthorized: "unauthorized",
  Forbidden: "forbidden",
  NotFound: "not-found",
  AlreadyExists: "already-exists",
  Conflict: "conflict",
  Expired: "expired",
  NotAcceptable: "not-acceptable",
  TooManyRequests: "too-many-requests",
  InternalError: "unavailable",
  ServiceUnavailable: "unavailable",
  Timeout: "unavailable",
};

/** A failure with the Status that answers it. */
export class StatusError extends ApiError {
  readonly body: Status;

  constructor(code: number, reason: string, message: string, details?: StatusDetails, metadata: JsonObject = {}) {
    super(codes[reason] ?? "invalid", message, { status: code, reason });
    this.body = {
      kind: "Status",
      apiVersion: "v1",
      metadata,
      status: "Failure",
      message,
      reason,
      ...(details !== undefined && { details }),
      code,
    };
  }
}

const detailsOf = ({ group, plural }: ResourceName, name?: string): StatusDetails => ({
  ...(name !== undefined && { name }),
  ...(group !== "" && { group }),
  kind: plural,
});

export const notFound = (type: ResourceName, name: string): StatusError =>
  new StatusError(404, "NotFound", `${qualifiedResource(type)} "${name}" not found`, detailsOf(type, name));

export const alreadyExists = (type: ResourceName, name: string): StatusError =>
  new StatusError(409, "AlreadyExists", `${qualifiedResource(type)} "${name}" already exists`, detailsOf(type, name));

export const conflict = (type: ResourceName, name: string, message: string): StatusError =>
  new StatusError(
    409,
    "Conflict",
    `Operation cannot be fulfilled on ${qualifiedResource(type)} "${name}": ${message}`,
    detailsOf(type, name),
  );

/** Stale resource version of an update. */
export const modified = (type: ResourceName, name: string): StatusError =>
  conflict(type, name, "the object has been modified; please apply your changes to the latest version and try again");

export const badRequest = (message: string): StatusError => new StatusError(400, "BadRequest", message);

export const forbidden = (
  type: ResourceName,
  name: string | undefined,
  message: string,
  causes?: readonly StatusCause[],
): StatusError =>
  new StatusError(
    403,
    "Forbidden",
    `${qualifiedResource(type)}${name === undefined ? "" : ` "${name}"`} is forbidden: ${message}`,
    { ...detailsOf(type, name), ...(causes !== undefined && { causes }) },
  );

export const methodNotAllowed = (): StatusError =>
  new StatusError(405, "MethodNotAllowed", "the server does not allow this method on the requested resource", {});

export const unsupportedMediaType = (accepted: readonly string[]): StatusError =>
  new StatusError(
    415,
    "UnsupportedMediaType",
    `the body of the request was in an unknown format - accepted media types include: ${accepted.join(", ")}`,
  );

/** Invalid field of an object. */
export interface FieldError {
  readonly field: string;
  readonly reason:
    | "FieldValueRequired"
    | "FieldValueInvalid"
    | "FieldValueNotSupported"
    | "FieldValueForbidden"
    | "FieldValueTypeInvalid"
    | "FieldValueTooLong"
    | "FieldValueTooMany"
    | "FieldValueDuplicate";
  /** For example `Required value`. */
  readonly message: string;
}

/** @param kind Kind of the object that is invalid, not its resource. */
export function invalid(kind: string, group: string, name: string, errors: readonly FieldError[]): StatusError {
  const texts = [...new Set(errors.map(({ field, message }) => `${field}: ${message}`))];
  const listed = texts.length === 1 ? texts.join() : `[${texts.join(", ")}]`;
  const qualified = group === "" ? kind : `${kind}.${group}`;
  return new StatusError(422, "Invalid", `${qualified} "${name}" is invalid: ${listed}`, {
    ...(name !== "" && { name }),
    ...(group !== "" && { group }),
    kind,
    causes: errors.map(({ reason, message, field }) => ({ reason, message, field })),
  });
}
