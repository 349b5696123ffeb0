import { record } from "../documents/json.js";
import type { Place } from "./place.js";

/** Members that a key of a type must have, and those that make it a private one (RFC 7518, section 6). */
const members: Readonly<Record<string, { readonly needs: readonly string[]; readonly secret: string }>> = {
  RSA: { needs: ["n", "e"], secret: "d" },
  EC: { needs: ["crv", "x", "y"], secret: "d" },
  OKP: { needs: ["crv", "x"], secret: "d" },
  oct: { needs: ["k"], secret: "k" },
};

/** A JSON Web Key Set, or a single key, as text. */
export function checkJwks(text: string, place: Place): void {
  let parsed: Readonly<Record<string, unknown>> | undefined;
  try {
    parsed = record(JSON.parse(text));
  } catch {
    parsed = undefined;
  }
  const keys: unknown = parsed === undefined || !("keys" in parsed) ? parsed && [parsed] : parsed["keys"];
  if (!Array.isArray(keys)) {
    place.error("is no JSON Web Key Set, expected JSON with keys");
    return;
  }
  for (const [i, key] of keys.entries()) {
    const fields = record(key) ?? {};
    const type = members[String(fields["kty"])];
    if (type === undefined)
      place.error(`has key ${i} of type ${JSON.stringify(fields["kty"])}, expected one of ${Object.keys(members).join(", ")}`);
    else {
      const missing = type.needs.find((name) => typeof fields[name] !== "string");
      if (missing !== undefined) place.error(`has key ${i} without ${missing}, expected it in a key of type ${String(fields["kty"])}`);
      else if (type.secret in fields) place.warning(`has a secret in key ${i}, expected public keys only`);
    }
  }
}
