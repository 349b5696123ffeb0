import { generateKeyPairSync } from "node:crypto";

export type Key = Readonly<Record<string, unknown>>;

/** The text of a key set. */
export function keySet(...keys: readonly unknown[]): string {
  return JSON.stringify({ keys });
}

/** So many bytes of ones. */
export function base64url(bytes: number): string {
  return Buffer.alloc(bytes, 0xff).toString("base64url");
}

const { rsa, ec, ec384, ed25519 } = {
  rsa: generateKeyPairSync("rsa", { modulusLength: 2048 }),
  ec: generateKeyPairSync("ec", { namedCurve: "P-256" }),
  ec384: generateKeyPairSync("ec", { namedCurve: "P-384" }),
  ed25519: generateKeyPairSync("ed25519"),
};
const jwk = ({ publicKey }: { publicKey: typeof rsa.publicKey }): Key => ({ ...publicKey.export({ format: "jwk" }) });

/** A key of each type. */
export const keys = {
  rsa: jwk(rsa),
  ec: jwk(ec),
  ec384: jwk(ec384),
  ed25519: jwk(ed25519),
  oct: { kty: "oct", k: "AAAA" },
} as const;
