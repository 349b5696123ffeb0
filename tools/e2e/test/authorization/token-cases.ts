import { createHmac, generateKeyPairSync, type KeyObject, sign } from "node:crypto";

export const issuer = "https://issuer.example";
export const audience = "shop";

/** A token, the key set of its rule, and the status of a request with it. */
export interface TokenCase {
  readonly name: string;
  readonly jwks: string;
  readonly token: string;
  readonly status: 200 | 401 | 403;
}

const { publicKey, privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
const small = generateKeyPairSync("rsa", { modulusLength: 1024 });
const other = generateKeyPairSync("rsa", { modulusLength: 2048, publicExponent: 17 });
const curves = { "P-256": "prime256v1", "P-384": "secp384r1", "P-521": "secp521r1" } as const;
const ec = Object.fromEntries(
  Object.entries(curves).map(([name, namedCurve]) => [name, generateKeyPairSync("ec", { namedCurve })]),
);
const ed = generateKeyPairSync("ed25519");
const secret = Buffer.from("0123456789abcdef0123456789abcdef");

const now = (): number => Math.floor(Date.now() / 1000);
const hour = 3600;
const encode = (text: string): string => Buffer.from(text).toString("base64url");

interface Signing {
  readonly header?: string | object;
  readonly payload?: string | object;
  readonly by?: (content: Buffer) => Buffer;
}

const rsa =
  (digest = "sha256", key: KeyObject = privateKey) =>
  (content: Buffer): Buffer =>
    sign(digest, content, key);
const ecdsa =
  (curve: string, digest: string) =>
  (content: Buffer): Buffer =>
    sign(digest, content, { key: ec[curve]!.privateKey, dsaEncoding: "ieee-p1363" });
const hmac =
  (digest: string) =>
  (content: Buffer): Buffer =>
    createHmac(digest, secret).update(content).digest();
const eddsa = (content: Buffer): Buffer => sign(null, content, ed.privateKey);

const claims = (more: object = {}): object => ({ iss: issuer, sub: "ann", aud: audience, exp: now() + hour, ...more });

function token({ header = { alg: "RS256" }, payload = claims(), by = rsa() }: Signing): string {
  const part = (value: string | object): string => encode(typeof value === "string" ? value : JSON.stringify(value));
  const content = `${part(header)}.${part(payload)}`;
  return `${content}.${by(Buffer.from(content)).toString("base64url")}`;
}

const jwk = (key: KeyObject, more: object = {}): object => ({ ...key.export({ format: "jwk" }), ...more });
const set = (...keys: readonly object[]): string => JSON.stringify({ keys });
const keys = set(jwk(publicKey));
const oct = { kty: "oct", k: secret.toString("base64url") };
const text = (more: string): string =>
  `{"iss":"${issuer}","aud":"${audience}","exp":${now() + hour}${more === "" ? "" : `,${more}`}}`;

const payloadCase = (name: string, payload: string | object, status: TokenCase["status"]): TokenCase => ({
  name: `payload: ${name}`,
  jwks: keys,
  token: token({ payload }),
  status,
});
const keyCase = (name: string, jwks: string, signing: Signing, status: TokenCase["status"]): TokenCase => ({
  name: `key: ${name}`,
  jwks,
  token: token(signing),
  status,
});
const textCase = (name: string, text: string, status: TokenCase["status"]): TokenCase => ({
  name: `token: ${name}`,
  jwks: keys,
  token: text,
  status,
});

const valid = token({});
const [header = "", payload = "", signature = ""] = valid.split(".");

const payloads: readonly TokenCase[] = [
  payloadCase("valid", claims(), 200),
  payloadCase("exp a string", claims({ exp: String(now() + hour) }), 401),
  payloadCase("exp null", claims({ exp: null }), 401),
  payloadCase("exp a list", claims({ exp: [now() + hour] }), 401),
  payloadCase("exp negative", claims({ exp: -1 }), 401),
  payloadCase("exp out of range", text('"x":1').replace(/"exp":\d+/, '"exp":18446744073709551616'), 401),
  payloadCase("exp in exponent form", text("").replace(/"exp":\d+/, '"exp":1e11'), 200),
  payloadCase("exp a fraction", claims({ exp: now() + hour + 0.5 }), 200),
  payloadCase("exp zero", claims({ exp: 0 }), 200),
  payloadCase("no exp", { iss: issuer, aud: audience }, 200),
  payloadCase("exp infinite", text("").replace(/"exp":\d+/, '"exp":1e999'), 401),
  payloadCase("expired within the skew", claims({ exp: now() - 30 }), 200),
  payloadCase("expired", claims({ exp: now() - 90 }), 401),
  payloadCase("nbf a string", claims({ nbf: "1" }), 401),
  payloadCase("nbf a boolean", claims({ nbf: true }), 401),
  payloadCase("nbf within the skew", claims({ nbf: now() + 30 }), 200),
  payloadCase("nbf later", claims({ nbf: now() + 120 }), 401),
  payloadCase("iat a string", claims({ iat: "now" }), 401),
  payloadCase("iat negative", claims({ iat: -5 }), 401),
  payloadCase("iat in the future", claims({ iat: now() + hour }), 200),
  payloadCase("sub a number", claims({ sub: 5 }), 401),
  payloadCase("sub null", claims({ sub: null }), 401),
  payloadCase("sub a list", claims({ sub: ["ann"] }), 401),
  payloadCase("sub an object", claims({ sub: {} }), 401),
  payloadCase("sub empty", claims({ sub: "" }), 200),
  payloadCase("iss a number", claims({ iss: 5 }), 401),
  payloadCase("iss of another", claims({ iss: "https://other.example" }), 401),
  payloadCase("no iss", { sub: "ann", aud: audience }, 401),
  payloadCase("jti a number", claims({ jti: 7 }), 401),
  payloadCase("aud a number", claims({ aud: 7 }), 401),
  payloadCase("aud an object", claims({ aud: {} }), 401),
  payloadCase("aud a list with a number", claims({ aud: [audience, 7] }), 401),
  payloadCase("aud another", claims({ aud: "bank" }), 403),
  payloadCase("aud an empty list", claims({ aud: [] }), 403),
  payloadCase("aud of several", claims({ aud: ["bank", audience] }), 200),
  payloadCase("aud with a trailing slash", claims({ aud: `https://${audience}/` }), 200),
  payloadCase("a member twice", text(`"sub":"ann","sub":"bob"`), 401),
  payloadCase("a member twice, once escaped", text(String.raw`"sub":"ann","s\u0075b":"bob"`), 401),
  payloadCase("a nested member twice", text(`"a":{"b":1,"b":2}`), 401),
  payloadCase("a member twice in a list", text(`"a":[{"b":1,"b":1}]`), 401),
  payloadCase("the same member in two objects", text(`"a":{"b":1},"c":{"b":1}`), 200),
  payloadCase("other claims of any type", claims({ a: null, b: [1, {}], c: { d: true } }), 200),
  payloadCase("a list", "[]", 401),
  payloadCase("not JSON", "iss", 401),
  payloadCase("a trailing comma", `${text("").slice(0, -1)},}`, 200),
  payloadCase("a trailing comma and spaces", `${text("").slice(0, -1)} , \n }`, 200),
  payloadCase("two trailing commas", `${text("").slice(0, -1)},,}`, 401),
  payloadCase("only a comma in an object", text(`"a":{,}`), 401),
  payloadCase("a trailing comma in a list", text(`"a":[1,]`), 200),
  payloadCase("only a comma in a list", text(`"a":[,]`), 401),
  payloadCase("a comma and a brace in a string", text(`"a":",}",`), 200),
  payloadCase("single quotes", text(`'a':1,"b":'it"s'`), 200),
  payloadCase("an escaped quote in single quotes", text(String.raw`"b":'it\'s'`), 200),
  payloadCase("single quotes, and the member again", text(`'a':1,"a":2`), 401),
  payloadCase("an open single quote", text(`'a:1`), 401),
  payloadCase("a name without quotes", text(`a:1,_b2 : 2`), 200),
  payloadCase("a name without quotes, and the member again", text(`a:1,"a":2`), 401),
  payloadCase("sub without quotes, a number", text(`sub:1`), 401),
  payloadCase("a value without quotes", text(`"a":ann`), 401),
  payloadCase("a name with a dash without quotes", text(`a-b:1`), 401),
  payloadCase("a comment", text(`/* a */"a":1`), 401),
  payloadCase("a leading zero", text(`"a":01`), 401),
  payloadCase("a leading plus", text(`"a":+1`), 401),
  payloadCase("a leading point", text(`"a":.5`), 401),
  payloadCase("NaN", text(`"a":NaN`), 401),
  payloadCase("a control character in a string", text(`"a":"\u0001\n"`), 200),
  payloadCase("text after the object", `${text("")} x`, 401),
  payloadCase("99 levels", text(`"a":${"[".repeat(98)}${"]".repeat(98)}`), 200),
  payloadCase("101 levels", text(`"a":${"[".repeat(100)}${"]".repeat(100)}`), 401),
  payloadCase("a lone surrogate", text(String.raw`"a":"\ud800"`), 401),
];

const headers: readonly TokenCase[] = (
  [
    ["alg none", { alg: "none" }, 401],
    ["no alg", {}, 401],
    ["alg a number", { alg: 256 }, 401],
    ["alg in lower case", { alg: "rs256" }, 401],
    ["kid a number", { alg: "RS256", kid: 1 }, 401],
    ["kid without one in the key", { alg: "RS256", kid: "x" }, 200],
    ["kid empty", { alg: "RS256", kid: "" }, 200],
    ["crit", { alg: "RS256", crit: ["x"], x: 1 }, 200],
    ["typ of any kind", { alg: "RS256", typ: 5 }, 200],
    ["alg twice", '{"alg":"RS256","alg":"RS256"}', 401],
  ] as const
).map(([name, header, status]) => ({ name: `header: ${name}`, jwks: keys, token: token({ header }), status }));

const withKey: readonly TokenCase[] = [
  keyCase("RSA 1024", set(jwk(small.publicKey)), { by: rsa("sha256", small.privateKey) }, 200),
  keyCase("key_ops sign", set(jwk(publicKey, { key_ops: ["sign"] })), {}, 200),
  keyCase("key_ops encrypt", set(jwk(publicKey, { key_ops: ["encrypt"] })), {}, 200),
  keyCase("key_ops of a wrong type", set(jwk(publicKey, { key_ops: "verify" })), {}, 200),
  keyCase("use enc", set(jwk(publicKey, { use: "enc" })), {}, 200),
  keyCase("ext false", set(jwk(publicKey, { ext: false })), {}, 200),
  keyCase("another alg", set(jwk(publicKey, { alg: "RS384" })), {}, 401),
  keyCase("its alg", set(jwk(publicKey, { alg: "RS384" })), { header: { alg: "RS384" }, by: rsa("sha384") }, 200),
  keyCase("RS512", keys, { header: { alg: "RS512" }, by: rsa("sha512") }, 200),
  keyCase("another kid", set(jwk(publicKey, { kid: "a" })), { header: { alg: "RS256", kid: "b" } }, 401),
  keyCase("kid only in the key", set(jwk(publicKey, { kid: "a" })), {}, 200),
  keyCase("kid of a wrong type", set(jwk(publicKey, { kid: 5 })), { header: { alg: "RS256", kid: "b" } }, 200),
  keyCase("the second of two", set(jwk(small.publicKey), jwk(publicKey)), {}, 200),
  keyCase("exponent 17", set(jwk(other.publicKey), jwk(publicKey)), { by: rsa("sha256", other.privateKey) }, 401),
  keyCase("of another", set(jwk(small.publicKey)), {}, 401),
  ...Object.keys(curves).flatMap((curve) =>
    ([256, 384, 512] as const).map((size) =>
      keyCase(
        `${curve} with ES${size}`,
        set(jwk(ec[curve]!.publicKey)),
        { header: { alg: `ES${size}` }, by: ecdsa(curve, `sha${size}`) },
        200,
      ),
    ),
  ),
  keyCase("P-256 with RS256", set(jwk(ec["P-256"]!.publicKey)), { by: ecdsa("P-256", "sha256") }, 200),
  keyCase("P-256 in DER", set(jwk(ec["P-256"]!.publicKey)), { header: { alg: "ES256" }, by: derSigned }, 401),
  keyCase("Ed25519", set(jwk(ed.publicKey)), { header: { alg: "EdDSA" }, by: eddsa }, 200),
  keyCase("Ed25519 with ES256", set(jwk(ed.publicKey)), { header: { alg: "ES256" }, by: eddsa }, 200),
  keyCase("Ed25519 before RSA", set(jwk(ed.publicKey), jwk(publicKey)), {}, 401),
  keyCase("secret", set(oct), { header: { alg: "HS256" }, by: hmac("sha256") }, 200),
  keyCase("secret with HS512", set(oct), { header: { alg: "HS512" }, by: hmac("sha512") }, 200),
  keyCase("secret with RS256", set(oct), { by: hmac("sha256") }, 200),
  keyCase("RSA as a secret", keys, { header: { alg: "HS256" }, by: publicAsSecret }, 401),
  ...([20, 32, 64] as const).map((saltLength) =>
    keyCase(
      `PS256 with a salt of ${saltLength}`,
      keys,
      { header: { alg: "PS256" }, by: pss(saltLength) },
      saltLength === 32 ? 200 : 401,
    ),
  ),
];

function derSigned(content: Buffer): Buffer {
  return sign("sha256", content, ec["P-256"]!.privateKey);
}

function pss(saltLength: number) {
  return (content: Buffer): Buffer => sign("sha256", content, { key: privateKey, padding: 6, saltLength });
}

function publicAsSecret(content: Buffer): Buffer {
  const pem = publicKey.export({ type: "spki", format: "pem" });
  return createHmac("sha256", pem).update(content).digest();
}

const texts: readonly TokenCase[] = [
  textCase("of two parts", `${header}.${payload}`, 401),
  textCase("of four parts", `${valid}.x`, 401),
  textCase("with a dot at the end", `${valid}.`, 200),
  textCase("with two dots", `${header}..${payload}.${signature}`, 200),
  textCase("with a dot first", `.${valid}`, 200),
  textCase("with a padded signature", `${valid}==`, 200),
  textCase("with the characters of base64", `${header}.${payload}.${signature.replace(/[-_]/g, "+")}+`, 401),
  textCase("with another signature", `${header}.${payload}.${signature.slice(0, -4)}AAAA`, 401),
  textCase("with a signature of a wrong length", `${valid}A`, 401),
];

/** Tokens that a library of JWTs and Envoy may decide differently. */
export const tokenCases: readonly TokenCase[] = [...payloads, ...headers, ...withKey, ...texts];
