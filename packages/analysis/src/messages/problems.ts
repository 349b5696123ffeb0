import { formatPath, type Problem } from "@istiod/config-schema";
import type { Code } from "../codes.js";

const codes = {
  "unreachable-rule": "IST0130",
  "ineffective-match": "IST0131",
  "unknown-kind": "MESH0001",
  "unsupported-kind": "MESH0002",
  "unsupported-field": "MESH0003",
  "fails-closed": "IST0106",
  "stored-version": "IST0106",
  "never-matches": "MESH0014",
  "no-effect": "MESH0042",
  "unexpected-path": "MESH0043",
  cors: "MESH0050",
  weight: "MESH0042",
  contradiction: "MESH0047",
  literal: "MESH0077",
} as const;

/** Returns the code for a problem of a document. */
export function codeOfProblem({ severity, code }: Problem): Code {
  if (code !== undefined) return codes[code];
  return severity === "error" ? "IST0106" : "IST0133";
}

/** Formats a problem as field and fault, without its location. */
export function formatProblemMessage({ path, message }: Problem): string {
  const field = formatPath(path);
  return field === "" ? message : `${field}: ${message}`;
}
