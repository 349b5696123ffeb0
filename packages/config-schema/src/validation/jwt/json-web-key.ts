import { createPublicKey } from "node:crypto";

type Fields = Readonly<Record<string, unknown>>;

/**
 * A key type: its required members (RFC 7518, section 6), the member that makes a key private, and Envoy's further
 * requirements.
 */
interface KeyType {
  readonly required: readonly string[];
  readonly secret: string;
  fault(fields: Fields, alg: string): string | undefined;
}

const keyTypes: Readonly<Record<string, KeyType>> = {
  RSA: { required: ["n", "e"], secret: "d", fault: rsaFault },
  EC: { required: ["x", "y"], secret: "d", fault: ecFault },
  OKP: { required: ["crv", "x"], secret: "d", fault: okpFault },
  oct: { required: ["k"], secret: "k", fault: octFault },
};

/**
 * Returns the reason why Envoy skips a key of a JSON Web Key Set; undefined if Envoy uses it. Source: Envoy's
 * source/common/jwt/jwks.cc.
 */
export function keyFault(fields: Fields): string | undefined {
  const type = keyTypes[String(fields["kty"])];
  if (type === undefined)
    return `kty is ${JSON.stringify(fields["kty"])}, expected one of ${Object.keys(keyTypes).join(", ")}`;
  const missing = type.required.find((name) => typeof fields[name] !== "string");
  if (missing !== undefined) return `${missing} is missing, expected it in a key of type ${String(fields["kty"])}`;
  return type.fault(fields, string(fields, "alg"));
}

/** Reports whether a key contains its private half. */
export function isSecretKey(fields: Fields): boolean {
  const secret = keyTypes[String(fields["kty"])]?.secret;
  return secret !== undefined && secret in fields;
}

const publicExponents = [3n, 65537n];
const modulusBits = { least: 512, most: 16384 };

function rsaFault(fields: Fields, alg: string): string | undefined {
  if (alg !== "" && !/^[RP]S/.test(alg))
    return `alg is ${JSON.stringify(alg)}, expected RS256 or another algorithm for RSA`;
  const [n, e] = [unsigned(string(fields, "n")), unsigned(string(fields, "e"))];
  if (n === undefined) return "n is not base64url";
  if (e === undefined || !publicExponents.includes(e)) return "e must be 3 or 65537, in base64url";
  const bits = n.toString(2).length;
  if (bits < modulusBits.least || bits > modulusBits.most)
    return `n has ${bits} bits, must be between ${modulusBits.least} and ${modulusBits.most}`;
  return n % 2n === 0n ? "n is even, which is not an RSA modulus" : undefined;
}

const curves: Readonly<Record<string, { readonly alg: string; readonly bytes: number }>> = {
  "P-256": { alg: "ES256", bytes: 32 },
  "P-384": { alg: "ES384", bytes: 48 },
  "P-521": { alg: "ES512", bytes: 66 },
};

function ecFault(fields: Fields, alg: string): string | undefined {
  if ("crv" in fields && typeof fields["crv"] !== "string") return "crv must be a string";
  const byAlg = Object.entries(curves).find(([, curve]) => curve.alg === alg)?.[0];
  const crv = string(fields, "crv") || byAlg || (alg === "" ? "P-256" : "");
  const curve = curves[crv];
  if (curve === undefined) return `crv is ${JSON.stringify(crv)}, expected one of ${Object.keys(curves).join(", ")}`;
  if (alg !== "" && alg !== curve.alg) return `alg is ${JSON.stringify(alg)}, expected ${curve.alg} for ${crv}`;
  const [x, y] = [coordinate(string(fields, "x"), curve.bytes), coordinate(string(fields, "y"), curve.bytes)];
  if (x === undefined || y === undefined) return "x and y must be base64url";
  try {
    createPublicKey({ key: { kty: "EC", crv, x, y }, format: "jwk" });
    return undefined;
  } catch {
    return `x and y are not a point on ${crv}`;
  }
}

const ed25519Bytes = 32;

function okpFault(fields: Fields, alg: string): string | undefined {
  if (alg !== "" && alg !== "EdDSA") return `alg is ${JSON.stringify(alg)}, expected EdDSA`;
  if (fields["crv"] !== "Ed25519") return `crv is ${JSON.stringify(fields["crv"])}, expected Ed25519`;
  const x = base64url(string(fields, "x"));
  return x?.length === ed25519Bytes ? undefined : `x must be ${ed25519Bytes} bytes in base64url`;
}

function octFault(fields: Fields, alg: string): string | undefined {
  if (alg !== "" && !/^HS(?:256|384|512)$/.test(alg))
    return `alg is ${JSON.stringify(alg)}, expected HS256, HS384 or HS512`;
  const k = base64url(string(fields, "k"));
  return k === undefined || k.length === 0 ? "k must be base64url and not empty" : undefined;
}

/** Returns a string member. A member of another type counts as absent, as in Envoy. */
function string(fields: Fields, name: string): string {
  const value = fields[name];
  return typeof value === "string" ? value : "";
}

function base64url(text: string): Buffer | undefined {
  const compact = text.replaceAll(/\s/g, "");
  const digits = compact.replace(/=+$/, "");
  const padded = compact.length > digits.length;
  if (!/^[A-Za-z0-9_-]*$/.test(digits) || digits.length % 4 === 1 || (padded && compact.length % 4 !== 0))
    return undefined;
  return Buffer.from(digits, "base64url");
}

function unsigned(text: string): bigint | undefined {
  const bytes = base64url(text);
  return bytes && BigInt(`0x0${bytes.toString("hex")}`);
}

/** Returns a coordinate padded to the size of its curve. */
function coordinate(text: string, bytes: number): string | undefined {
  const value = unsigned(text);
  if (value === undefined) return undefined;
  return Buffer.from(value.toString(16).padStart(2 * bytes, "0"), "hex").toString("base64url");
}
