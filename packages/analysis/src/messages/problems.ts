import { formatPath, type Problem } from "@istiod/config-schema";
import type { Code } from "../codes.js";

const codes = {
  "unreachable-rule": "IST0130",
  "ineffective-match": "IST0131",
  "unknown-kind": "MESH0001",
  "unsupported-kind": "MESH0002",
} as const;

/** Returns the code under which a problem of a document is reported. */
export function codeOfProblem({ severity, code }: Problem): Code {
  if (code !== undefined) return codes[code];
  return severity === "error" ? "IST0106" : "IST0133";
}

/** Formats a problem without its place: the field, and the fault. */
export function formatProblemMessage({ path, message }: Problem): string {
  const field = formatPath(path);
  return field === "" ? message : `${field}: ${message}`;
}
