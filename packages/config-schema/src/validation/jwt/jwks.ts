import { record } from "../../decoding/json.js";
import { isNestedTooDeeply, isTooDeep } from "../../yaml/nesting.js";
import { hasDuplicateMember } from "./duplicate-members.js";
import { isSecretKey, keyFault } from "./json-web-key.js";
import type { Place } from "../place.js";

/**
 * Checks a JSON Web Key Set. A set that Envoy rejects is an error, since Envoy then rejects every listener that
 * contains it. A key that Envoy skips is a warning.
 */
export function checkJwks(text: string, place: Place): void {
  const fault = jwksFault(text);
  if (fault !== undefined) return place.error(fault);
  for (const [i, key] of keysOf(text).entries()) {
    const skipped = keyFaultOf(key);
    if (skipped !== undefined) place.warning(`keys[${i}] is ignored by the proxies: ${skipped}`);
    else if (isSecretKey(record(key) ?? {})) place.warning(`keys[${i}] contains a secret, expected public keys only`);
  }
}

/** Returns the reason why Envoy would reject a JSON Web Key Set; undefined if it would accept it. */
export function jwksFault(text: string): string | undefined {
  const value = parsed(text);
  if (value === undefined) return "is not JSON, expected a JSON Web Key Set";
  const set = record(value);
  if (set !== undefined && !("keys" in set) && "kty" in set)
    return 'is a single key, expected a JSON Web Key Set: {"keys": [...]}';
  if (set === undefined || !Array.isArray(set["keys"])) return 'is not a JSON Web Key Set, expected {"keys": [...]}';
  const portable = portabilityFault(text, value, maxDepth);
  if (portable !== undefined) return portable;
  const keys = set["keys"] as readonly unknown[];
  if (keys.length === 0) return "has no keys, expected at least one";
  if (keys.some((key) => keyFaultOf(key) === undefined)) return undefined;
  return `has no key that the proxies can use: keys[0]: ${keyFaultOf(keys[0])}`;
}

/** Maximum nesting of a key set. Envoy's JSON parser stops at 100. */
const maxDepth = 32;

/**
 * Returns the part of a JSON text that JavaScript accepts and protobuf's JSON parser, which Envoy uses for key sets and
 * tokens, rejects.
 *
 * @param value the parsed text
 * @param depth maximum nesting; that of the parser is 100
 */
export function portabilityFault(text: string, value: unknown, depth = 100): string | undefined {
  if (isTooDeep(value, depth)) return `is nested more than ${depth} levels deep`;
  if (hasDuplicateMember(text)) return "has a member twice, expected each once";
  return hasUnportableScalar(value) ? "has a number or a character that JSON cannot exchange" : undefined;
}

/** Reports whether a value contains an infinite number, or a string with a lone surrogate. */
function hasUnportableScalar(value: unknown): boolean {
  if (typeof value === "number") return !Number.isFinite(value);
  if (typeof value === "string") return /\p{Surrogate}/u.test(value);
  if (typeof value !== "object" || value === null) return false;
  return Object.entries(value).some(([name, item]) => hasUnportableScalar(name) || hasUnportableScalar(item));
}

function keyFaultOf(key: unknown): string | undefined {
  const fields = record(key);
  return fields === undefined ? "is not an object" : keyFault(fields);
}

function keysOf(text: string): readonly unknown[] {
  const keys = record(parsed(text))?.["keys"];
  return Array.isArray(keys) ? keys : [];
}

function parsed(text: string): unknown {
  if (isNestedTooDeeply(text)) return undefined;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
