import type { Scenario, Type } from "./scenario.js";

/** What the generators give for each proxy of a scenario: bytes by resource name, by "key type". */
export function generate(_s: Scenario, _types: readonly Type[]): Map<string, Map<string, Uint8Array>> {
  return new Map();
}
