import type { ConfigObject } from "@istiod/config-ingestion";
import type { Database } from "@istiod/incremental";
import { type Code, messageTypes } from "./codes.js";
import { type Finding, formatOrigin } from "./finding.js";
import { collectionOf } from "./findings.js";

/** Findings of one code about objects whose origins match a pattern are left out. */
export interface Suppression {
  readonly code: string;
  /** `Kind namespace/name` or, as the help of `istioctl analyze` has it, `Kind name.namespace`; `*` stands for any text. */
  readonly origin: string;
}

/**
 * Parses `CODE=Kind namespace/name`.
 *
 * @throws Error that names the value if it has no code or no origin.
 */
export function parseSuppression(value: string): Suppression {
  const [code = "", origin = "", ...rest] = value.split("=");
  if (code === "" || origin === "" || rest.length > 0) throw new Error(`--suppress ${value}: expected CODE=KIND NAMESPACE/NAME, such as "IST0103=Pod *.testing"`);
  return { code, origin };
}

/** Reports whether a code exists. */
export function isCode(code: string): code is Code {
  return code in messageTypes;
}

/** The annotation that suppresses codes, separated by commas, or `*` for all, for the object that has it. */
const annotation = "galley.istio.io/analyze-suppress";

/** Reports whether a finding is suppressed by an annotation of its object or by a given suppression. */
export function isSuppressed(database: Pick<Database<never>, "read">, finding: Finding, suppressions: readonly Suppression[]): boolean {
  const { code, origin } = finding;
  const of = collectionOf(finding);
  const object = of && (database.read(of, origin.key) as Partial<ConfigObject<unknown>> | undefined);
  const codes = object?.annotations?.[annotation]?.split(",") ?? [];
  return codes.includes(code) || codes.includes("*") || suppressions.some((s) => s.code === code && matchesOrigin(s.origin, origin));
}

function matchesOrigin(pattern: string, origin: Finding["origin"]): boolean {
  const dotted = `${origin.kind} ${origin.name}${origin.namespace === "" ? "" : `.${origin.namespace}`}`;
  return matchesGlob(pattern, formatOrigin(origin)) || matchesGlob(pattern, dotted);
}

/** Matches without backtracking: the parts between stars are found one after another. */
function matchesGlob(pattern: string, text: string): boolean {
  const [first = "", ...parts] = pattern.split("*");
  const last = parts.pop();
  if (last === undefined) return text === first;
  if (!text.startsWith(first)) return false;
  let at = first.length;
  for (const part of parts) {
    const found = text.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return text.length - last.length >= at && text.endsWith(last);
}
