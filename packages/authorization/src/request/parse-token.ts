import type { JsonObject } from "@bufbuild/protobuf";
import { jsonPortabilityFault } from "@istiod/config-schema";
import { strictJson } from "./protobuf-json.js";

/** A token in the compact form, as Envoy parses it. */
export interface ParsedToken {
  readonly algorithm: string;
  /** Empty if the header has none. */
  readonly keyId: string;
  readonly claims: JsonObject;
  readonly issuer: string;
  /** Seconds since the epoch; 0 if the token has none. */
  readonly notBefore: number;
  readonly expires: number;
  readonly audiences: readonly string[];
  /** The signed text. */
  readonly content: string;
  readonly signature: Buffer;
}

const algorithms = new Set(
  ["ES", "HS", "RS", "PS"].flatMap((family) => [256, 384, 512].map((size) => `${family}${size}`)).concat("EdDSA"),
);

/** Number from which a time is out of range of an unsigned 64-bit integer. */
const timeLimit = 2 ** 64;

/** Parses a token as Envoy's JWT filter does, whose JSON is protobuf's; returns the reason if it rejects the token. */
export function parseToken(token: string): ParsedToken | string {
  const parts = token.split(".").filter((part) => part !== "");
  const [encodedHeader = "", encodedClaims = "", encodedSignature = ""] = parts;
  if (parts.length !== 3) return malformed("it has not three parts");
  const header = jsonPart("header", encodedHeader);
  if (typeof header === "string") return malformed(header);
  const { alg, kid = "" } = header;
  if (typeof alg !== "string" || !algorithms.has(alg)) return `the algorithm ${JSON.stringify(alg)} is not supported`;
  if (typeof kid !== "string") return malformed("kid is not a string");
  const claims = jsonPart("payload", encodedClaims);
  if (typeof claims === "string") return malformed(claims);
  const fault = claimFault(claims);
  if (fault !== undefined) return malformed(fault);
  const signature = decodePart(encodedSignature);
  if (signature === undefined) return malformed("the signature is not base64url");
  return {
    algorithm: alg,
    keyId: kid,
    claims,
    issuer: typeof claims["iss"] === "string" ? claims["iss"] : "",
    notBefore: secondsOf(claims["nbf"]),
    expires: secondsOf(claims["exp"]),
    audiences: [claims["aud"]].flat().filter((each) => typeof each === "string"),
    content: `${encodedHeader}.${encodedClaims}`,
    signature,
  };
}

function malformed(reason: string): string {
  return `the token is malformed: ${reason}`;
}

/** Returns the claim that has a type or value that Envoy does not accept. */
function claimFault(claims: JsonObject): string | undefined {
  for (const name of ["iss", "sub"])
    if (name in claims && typeof claims[name] !== "string") return `${name} is not a string`;
  for (const name of ["iat", "nbf", "exp"]) {
    const value = claims[name];
    if (value === undefined) continue;
    if (typeof value !== "number") return `${name} is not a number`;
    if (value < 0 || value >= timeLimit) return `${name} is out of range`;
  }
  const { jti, aud } = claims;
  if (jti !== undefined && typeof jti !== "string") return "jti is not a string";
  if (aud !== undefined && ![aud].flat().every((each) => typeof each === "string"))
    return "aud is neither a string nor a list of strings";
  return undefined;
}

function secondsOf(claim: unknown): number {
  return typeof claim === "number" ? Math.trunc(claim) : 0;
}

/** Returns a part of the token that is a JSON object, or the reason why it is none. */
function jsonPart(name: string, encoded: string): JsonObject | string {
  const bytes = decodePart(encoded);
  if (bytes === undefined) return `the ${name} is not base64url`;
  try {
    const text = strictJson(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes));
    const value = JSON.parse(text) as unknown;
    if (typeof value !== "object" || value === null || Array.isArray(value)) return `the ${name} is not a JSON object`;
    const fault = jsonPortabilityFault(text, value);
    return fault === undefined ? (value as JsonObject) : `the ${name} ${fault}`;
  } catch {
    return `the ${name} is not JSON`;
  }
}

/** Decodes base64url, with or without padding. */
function decodePart(encoded: string): Buffer | undefined {
  const text = encoded.replace(/={1,2}$/, "");
  if (!/^[A-Za-z0-9_-]*$/.test(text) || text.length % 4 === 1) return undefined;
  return Buffer.from(text, "base64url");
}
