import { type Authenticator, type JwtRule, parseTokenKeys, signedTokens, type TokenKeySet } from "@istiod/ca";
import { followKeySet, refreshSchedule } from "@istiod/jwks";
import { systemClock } from "@istiod/runtime";
import { keySetFetch } from "../jwks/open-jwks.js";
import type { Startup } from "../phases/startup.js";

/** Keys of an issuer of which none has been fetched yet: its tokens are rejected. */
const noKeys: TokenKeySet = { keys: [] };

/**
 * Returns the authenticator of an issuer's tokens, whose keys are inline, or are fetched and refreshed. Resolves after
 * the first fetch, well or not: until there are keys, all tokens are rejected.
 *
 * @param variable that names the issuer
 * @throws CaError `malformed` for inline keys
 */
export async function issuerTokens(
  { issuer, audiences, jwksUri, jwks, timeoutMs }: JwtRule,
  variable: string,
  trustDomain: string,
  startup: Pick<Startup, "settings" | "log" | "meter" | "closers">,
): Promise<Authenticator> {
  const tokens = { name: `OIDC token of ${variable}`, issuer, audiences, trustDomain };
  if (jwks !== "") {
    const keys = parseTokenKeys(jwks);
    return signedTokens({ ...tokens, keys: () => keys });
  }
  const followed = followKeySet({
    source: { issuer, jwksUri, timeoutMs },
    fetch: keySetFetch(startup),
    schedule: refreshSchedule(startup.settings.jwks.refreshIntervalMs),
    clock: systemClock,
    log: startup.log.child({ scope: "security" }),
  });
  startup.closers.defer(() => followed.stop());
  await followed.attempted();
  let parsed: { readonly text: string; readonly keys: TokenKeySet } | undefined;
  return signedTokens({
    ...tokens,
    keys: () => {
      const text = followed.keys();
      if (text === undefined) return noKeys;
      if (parsed?.text !== text) parsed = { text, keys: parseTokenKeys(text) };
      return parsed.keys;
    },
    refreshKeys: () => followed.refresh(),
  });
}
