import { isJsonObject } from "../storage/object.js";
import type { DeleteOptions } from "../storage/delete.js";
import type { UserInfo, WriteOptions } from "../storage/server-state.js";
import type { Exchange } from "./exchange.js";
import { badRequest, invalid } from "./status-error.js";

/** Returns the user of a request that has passed authentication. */
export function userOf({ user }: Exchange): UserInfo {
  if (user === undefined) throw new Error("the request is not authenticated");
  return user;
}

/**
 * Returns the options of a write from the query.
 *
 * @throws StatusError 400 and 422
 */
export function writeOptions(exchange: Exchange, isApply = false): WriteOptions {
  const { query, request } = exchange;
  const fieldManager = query.get("fieldManager") ?? "";
  if (isApply && fieldManager === "") {
    throw invalid("PatchOptions", "meta.k8s.io", "", [
      { field: "fieldManager", reason: "FieldValueRequired", message: "Required value: is required for apply patch" },
    ]);
  }
  if (!isApply && query.has("force")) {
    throw invalid("PatchOptions", "meta.k8s.io", "", [
      { field: "force", reason: "FieldValueForbidden", message: "Forbidden: may not be specified for non-apply patch" },
    ]);
  }
  const userAgent = String(request.headers["user-agent"] ?? "").split("/")[0] ?? "";
  return {
    user: userOf(exchange),
    fieldManager: fieldManager === "" ? (userAgent === "" ? "unknown" : userAgent) : fieldManager,
    dryRun: dryRunOf(query.getAll("dryRun")),
    fieldValidation: fieldValidationOf(query.get("fieldValidation")),
    warn: (message) => exchange.warn(message),
  };
}

function dryRunOf(values: readonly string[]): boolean {
  const unsupported = values.find((value) => value !== "All" && value !== "");
  if (unsupported === undefined) return values.includes("All");
  throw invalid("WriteOptions", "meta.k8s.io", "", [
    {
      field: "dryRun",
      reason: "FieldValueNotSupported",
      message: `Unsupported value: "${unsupported}": supported values: "All"`,
    },
  ]);
}

function fieldValidationOf(value: string | null): WriteOptions["fieldValidation"] {
  if (value === null || value === "") return "Warn";
  if (value === "Ignore" || value === "Warn" || value === "Strict") return value;
  throw invalid("WriteOptions", "meta.k8s.io", "", [
    {
      field: "fieldValidation",
      reason: "FieldValueNotSupported",
      message: `Unsupported value: "${value}": supported values: "", "Ignore", "Strict", "Warn"`,
    },
  ]);
}

/**
 * Reads the body of a deletion, which may be empty.
 *
 * @throws StatusError 400
 */
export async function readDeletion(
  exchange: Exchange,
): Promise<{ readonly deletion: DeleteOptions; readonly options: WriteOptions }> {
  const text = await exchange.body();
  let body: unknown = {};
  if (text.trim() !== "") {
    try {
      body = JSON.parse(text);
    } catch (error) {
      throw badRequest(`the body of the deletion is not JSON: ${(error as Error).message}`);
    }
  }
  if (!isJsonObject(body)) throw badRequest("the body of the deletion is not an object");
  const options = writeOptions(exchange);
  const inBody = Array.isArray(body.dryRun) ? dryRunOf(body.dryRun as string[]) : false;
  const grace = exchange.query.get("gracePeriodSeconds") ?? body.gracePeriodSeconds;
  if (grace !== undefined && !(Number(grace) >= 0)) throw badRequest("gracePeriodSeconds must not be negative");
  return {
    deletion: {
      ...(isJsonObject(body.preconditions) && { preconditions: body.preconditions }),
      ...(grace !== undefined && { gracePeriodSeconds: Number(grace) }),
    },
    options: { ...options, dryRun: options.dryRun || inBody },
  };
}
