import { generateKeyPairSync } from "node:crypto";
import { mint } from "@istiod/ca/testing";

const key = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;
const fromNow = (time: number): number => time - Date.now();

/** A certificate that is valid from 2026-11-22T17:20:51Z to 2026-12-22T17:20:51Z, and its key. */
export const { pem: certificate, keyPem: privateKey } = await mint({
  key,
  issuer: await mint({ ca: true }),
  notBefore: fromNow(Date.UTC(2026, 10, 22, 17, 20, 51)),
  notAfter: fromNow(Date.UTC(2026, 11, 22, 17, 20, 51)),
});
