import type { ConfigObject } from "@istiod/config-schema";
import type { Database } from "@istiod/incremental";
import type { Finding } from "../finding.js";
import { collectionOf } from "../findings.js";
import type { Message } from "./message.js";

/** Suppresses messages with one code about objects that match a pattern. */
export interface Suppression {
  readonly code: string;
  /**
   * `Kind namespace/name` or, as in the help of `istioctl analyze`, `Kind name.namespace`; `*` matches any text.
   */
  readonly origin: string;
}

/**
 * Parses `CODE=Kind namespace/name`.
 *
 * @throws Error that names the value if it has no code or no origin.
 */
export function parseSuppression(value: string): Suppression {
  const [code = "", origin = "", ...rest] = value.split("=");
  if (code === "" || origin === "" || rest.length > 0)
    throw new Error(`--suppress ${value}: expected CODE=KIND NAMESPACE/NAME, such as "IST0103=Pod testing/*"`);
  return { code, origin };
}

/** Reports whether a message is suppressed. */
export function isSuppressed(
  { code, origin }: Pick<Message, "code" | "origin">,
  suppressions: readonly Suppression[],
): boolean {
  if (origin === undefined) return false;
  return suppressions.some(
    (s) => s.code === code && (matchesGlob(s.origin, origin) || matchesGlob(s.origin, dotted(origin))),
  );
}

/** Returns `Kind name.namespace` for `Kind namespace/name`. */
function dotted(origin: string): string {
  return origin.replace(/^(\S+) ([^/]+)\/(.*)$/, "$1 $3.$2");
}

/** The annotation that suppresses codes for its object: a comma-separated list, or `*` for all. */
const annotation = "galley.istio.io/analyze-suppress";

/** Reports whether the object of a finding has an annotation that suppresses it. */
export function isSuppressedByObject(database: Pick<Database<never>, "read">, finding: Finding): boolean {
  const of = collectionOf(finding);
  const object = of && (database.read(of, finding.origin.key) as Partial<ConfigObject<unknown>> | undefined);
  const codes = object?.annotations?.[annotation]?.split(",") ?? [];
  return codes.includes(finding.code) || codes.includes("*");
}

/** Reports whether a text matches a pattern with `*` wildcards, without backtracking. */
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
