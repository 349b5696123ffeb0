import fc from "fast-check";

/** Key sets and issuers that random rules refer to. */
export interface JwtSources {
  readonly issuers: readonly string[];
  /** Values of `jwks`. */
  readonly inline: readonly string[];
  /** Values of `jwksUri`. */
  readonly uris: readonly string[];
}

/** A rule of a RequestAuthentication, as in YAML. */
export interface RandomJwtRule {
  readonly issuer: string;
  readonly jwks?: string;
  readonly jwksUri?: string;
  readonly audiences?: readonly string[];
  readonly fromHeaders?: readonly { readonly name: string; readonly prefix?: string }[];
  readonly fromParams?: readonly string[];
  readonly fromCookies?: readonly string[];
  readonly outputPayloadToHeader?: string;
  readonly outputClaimToHeaders?: readonly { readonly header: string; readonly claim: string }[];
  readonly forwardOriginalToken?: boolean;
  readonly spaceDelimitedClaims?: readonly string[];
  readonly timeout?: string;
}

const some = <T>(...values: readonly T[]): fc.Arbitrary<T> => fc.constantFrom(...values);
const list = (...values: readonly string[]): fc.Arbitrary<string[]> =>
  fc.uniqueArray(some(...values), { minLength: 1, maxLength: 3 });

/** Returns random valid rules with every field of the API. */
export function jwtRule({ issuers, inline, uris }: JwtSources): fc.Arbitrary<RandomJwtRule> {
  const keys = fc.oneof(
    { weight: 4, arbitrary: fc.record({ jwks: some(...inline) }) },
    { weight: 6, arbitrary: fc.record({ jwksUri: some(...uris) }) },
    { weight: 1, arbitrary: fc.constant({}) },
  );
  const fields: fc.Arbitrary<Omit<RandomJwtRule, "issuer" | "jwks" | "jwksUri">> = fc.record(
    {
      audiences: list("shop", "https://api.example.com/", "bookinfo_web.apps.example.com"),
      fromHeaders: fc.uniqueArray(
        fc.record(
          { name: some("x-token", "Authorization", "x-jwt-assertion"), prefix: some("Bearer ", "JWT ", "") },
          { requiredKeys: ["name"] },
        ),
        { minLength: 1, maxLength: 2, selector: ({ name }) => name },
      ),
      fromParams: list("access_token", "t", "my_token"),
      fromCookies: list("auth-token", "session"),
      outputPayloadToHeader: some("x-payload", "X-Jwt-Payload"),
      outputClaimToHeaders: fc.uniqueArray(
        fc.record({
          header: some("x-sub", "x-groups", "X-Role"),
          claim: some("sub", "groups", "nested.role", "a.b.c"),
        }),
        { minLength: 1, maxLength: 3, selector: ({ header }) => header },
      ),
      forwardOriginalToken: fc.boolean(),
      spaceDelimitedClaims: list("roles", "scope", "permission", "a.b"),
      timeout: some("1s", "5s", "2.5s"),
    },
    { requiredKeys: [] },
  );
  return fc.tuple(some(...issuers), keys, fields).map(([issuer, of, more]) => ({ issuer, ...of, ...more }));
}
