import { CertificateAuthority, createSelfSignedRoot, issueServingCertificate, selfSignedBundle } from "@istiod/ca";
import { exportJWK, generateKeyPair, SignJWT } from "jose";

/** An identity with its certificate. */
export interface Identity {
  readonly spiffeId: string;
  readonly key: string;
  readonly cert: string;
}

/** Everything that callers differ in. */
export interface Callers {
  readonly identities: readonly Identity[];
  /** Local addresses. */
  readonly addresses: readonly string[];
  readonly tokens: readonly string[];
  /** PEM of the root that signed the identities. */
  readonly root: string;
  /** A RequestAuthentication's rules that verify the tokens. */
  readonly jwtRules: readonly object[];
}

type SigningKey = Awaited<ReturnType<typeof generateKeyPair>>["privateKey"];

const spiffeIds = [
  "spiffe://td1/ns/shop/sa/web",
  "spiffe://td1/ns/shop/sa/web2",
  "spiffe://td1/ns/admin/sa/root",
  "spiffe://old-td/ns/shop/sa/web",
  "spiffe://other/ns/shop/sa/web",
];

/** Creates the identities and tokens. */
export async function createCallers(addresses: readonly string[]): Promise<Callers> {
  const now = Date.now();
  const root = await createSelfSignedRoot({ organization: "test", key: { type: "ecdsa", curve: "P-256" } }, now);
  const authority = new CertificateAuthority({ bundle: selfSignedBundle(root, "test", now) });
  const identities = await Promise.all(
    spiffeIds.map(async (spiffeId) => {
      const { key, cert } = await issueServingCertificate(authority, [spiffeId], 86_400_000, now);
      return { spiffeId, key, cert };
    }),
  );
  const one = await generateKeyPair("RS256", { extractable: true });
  const two = await generateKeyPair("ES256", { extractable: true });
  const signed = (key: SigningKey, alg: string, claims: Record<string, unknown>, exp = "2h"): Promise<string> =>
    new SignJWT(claims).setProtectedHeader({ alg }).setExpirationTime(exp).sign(key);
  const iss = "https://one.example.com";
  const tokens = await Promise.all([
    signed(one.privateKey, "RS256", {
      iss,
      sub: "ann",
      aud: ["aud-a", "b"],
      groups: ["staff", "x"],
      scope: "read write",
    }),
    signed(one.privateKey, "RS256", { iss, sub: "bob", aud: "aud-a", azp: "client-1", nested: { role: "boss" } }),
    signed(two.privateKey, "ES256", { iss: "two", sub: "ann", aud: "aud-a", groups: "staff", level: 3 }),
    signed(two.privateKey, "ES256", { iss: "two", sub: "ann", aud: "https://aud-b/" }),
    signed(two.privateKey, "ES256", { iss: "two", sub: "ann", aud: "elsewhere" }),
    signed(one.privateKey, "RS256", { iss, sub: "ann" }, "-1h"),
    signed(two.privateKey, "ES256", { iss, sub: "ann" }),
    signed(one.privateKey, "RS256", { iss: "unknown", sub: "ann" }),
    Promise.resolve("not.a.token"),
  ]);
  const jwks = async (key: SigningKey): Promise<string> => JSON.stringify({ keys: [await exportJWK(key)] });
  return {
    identities,
    addresses,
    tokens,
    root: root.certificate,
    jwtRules: [
      { issuer: iss, jwks: await jwks(one.publicKey) },
      { issuer: "two", jwks: await jwks(two.publicKey), audiences: ["aud-a", "aud-b"] },
    ],
  };
}
