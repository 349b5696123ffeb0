import fc from "fast-check";
import { object } from "./manifest.js";
import { durations, from, headerNames, labels, list, some, texts } from "../values.js";

export const requestAuthentication = object(
  "security.istio.io/v1",
  "RequestAuthentication",
  some({
    jwtRules: list(
      some(
        {
          issuer: from("a", "b", "%", "a\nb", "é"),
          audiences: list(texts),
          jwks: from(
            '{"keys":[]}',
            '{"keys":[{"kty":"EC","crv":"P-256","x":"MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4","y":"4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM"}]}',
            '{"keys":[{"kty":"oct","k":"AAAA"}]}',
          ),
          jwksUri: from(
            "https://example.com/a",
            "http://[::1]:80/a",
            "https://example.com:99999/",
            "https://a b/",
            "https://example.com/\n",
          ),
          fromHeaders: list(some({ name: headerNames, prefix: texts }, ["name"])),
          fromParams: list(texts),
          fromCookies: list(texts),
          outputPayloadToHeader: fc.oneof(headerNames, texts),
          outputClaimToHeaders: list(some({ header: headerNames, claim: texts }, ["header", "claim"])),
          forwardOriginalToken: fc.boolean(),
          timeout: durations,
          spaceDelimitedClaims: list(texts),
        },
        ["issuer"],
      ),
      3,
    ),
  }),
);
export const peerAuthentication = object(
  "security.istio.io/v1",
  "PeerAuthentication",
  some({
    mtls: some({ mode: from("STRICT", "PERMISSIVE", "DISABLE") }),
    selector: some({ matchLabels: labels }),
    portLevelMtls: fc.dictionary(from("80", "8080", "65535"), some({ mode: from("STRICT", "DISABLE") }), {
      maxKeys: 2,
    }),
  }),
);
