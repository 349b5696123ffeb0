import { equal } from "node:assert/strict";
import { AddressRules, DocumentClient, keySetFetcher, KeySets, refreshSchedule, trustedRoots } from "@istiod/jwks";
import { OidcProvider } from "@istiod/jwks/testing";
import { systemClock } from "@istiod/runtime";

const provider = await OidcProvider.start();
const client = new DocumentClient({ rules: new AddressRules(), secureContext: trustedRoots({}) });
const keySets = new KeySets({
  fetch: keySetFetcher({ client, fault: (text) => (text.includes('"keys"') ? undefined : "is no key set") }),
  schedule: refreshSchedule(20 * 60_000),
  clock: systemClock,
  onChange: (key, _, state) => console.log(key, state?.failure ?? state?.keys),
});

// An empty URI is discovered from the issuer.
keySets.want([{ issuer: provider.issuer, jwksUri: "", timeoutMs: 60_000 }]);
await keySets.attempted();

equal(keySets.states().get(`issuer ${provider.issuer}`)?.keys, provider.jwks);
keySets.stop();
await provider.close();
