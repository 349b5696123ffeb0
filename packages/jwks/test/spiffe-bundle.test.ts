import { execFileSync } from "node:child_process";
import { X509Certificate } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bundleEndpointUrl, readSpiffeBundle, spiffeBundleFault } from "../src/index.js";

const directory = mkdtempSync(join(tmpdir(), "spiffe-bundle-"));
afterAll(() => rmSync(directory, { recursive: true }));

function selfSigned(name: string, ca: boolean): X509Certificate {
  const file = join(directory, `${name}.pem`);
  const keys = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", join(directory, "key")];
  const constraints = ["-addext", `basicConstraints=critical,CA:${ca ? "TRUE" : "FALSE"}`];
  execFileSync("openssl", ["req", "-x509", ...keys, "-subj", `/CN=${name}`, ...constraints, "-out", file], {
    stdio: "pipe",
  });
  return new X509Certificate(readFileSync(file));
}

let a: X509Certificate;
let b: X509Certificate;
let leaf: X509Certificate;
beforeAll(() => {
  [a, b, leaf] = [selfSigned("a", true), selfSigned("b", true), selfSigned("leaf", false)];
});

const entry = (certificate: X509Certificate, more: object = {}) => ({
  use: "x509-svid",
  ...certificate.publicKey.export({ format: "jwk" }),
  x5c: [certificate.raw.toString("base64")],
  ...more,
});
const bundle = (...keys: readonly unknown[]) => JSON.stringify({ keys, spiffe_sequence: 3, spiffe_refresh_hint: 600 });

describe("a SPIFFE bundle", () => {
  it("has the roots of its keys for x509-svid, once each; others are skipped", () => {
    const text = bundle(entry(a), { use: "jwt-svid", kty: "EC", kid: "x" }, entry(b), entry(a), { use: 3 }, null);
    expect(readSpiffeBundle(text).roots?.map((pem) => new X509Certificate(pem).fingerprint256)).toEqual([
      a.fingerprint256,
      b.fingerprint256,
    ]);
  });

  it("is rejected as a whole with the reason", () => {
    const raw = a.raw.toString("base64");
    const faults = [
      ["no JSON", "is not JSON"],
      ["[]", "has no keys"],
      ['{"keys":{}}', "has no keys"],
      [bundle(), "has no key for x509-svid"],
      [bundle({ use: "jwt-svid" }), "has no key for x509-svid"],
      [bundle(entry(a, { x5c: [] })), "keys[0]: expected 1 certificate in x5c, got 0"],
      [bundle(entry(a, { x5c: [raw, raw] })), "keys[0]: expected 1 certificate in x5c, got 2"],
      [bundle(entry(a, { x5c: raw })), "keys[0]: expected 1 certificate in x5c, got none"],
      [bundle(entry(a), entry(b, { x5c: ["AAAA"] })), "keys[1]: its certificate cannot be read"],
      [bundle(entry(leaf)), "keys[0]: its certificate is not that of a CA"],
      [bundle(entry(a, { x5c: [b.raw.toString("base64")] })), "keys[0]: its certificate has another key"],
      [bundle(entry(a, { kty: "none" })), "keys[0]: its certificate has another key"],
      [bundle(...Array.from({ length: 201 }, () => entry(a))), "has 201 keys, at most 200 are accepted"],
    ] as const;
    for (const [text, fault] of faults) expect(spiffeBundleFault(text)).toBe(fault);
  });

  it("never fails in another way, whatever its bytes", () => {
    const keys = fc.array(
      fc.record(
        {
          use: fc.constantFrom("x509-svid", "jwt-svid", 1),
          x5c: fc.oneof(fc.jsonValue(), fc.tuple(fc.base64String())),
          kty: fc.constantFrom("EC", "RSA", "oct", null),
          crv: fc.string(),
          x: fc.oneof(fc.base64String(), fc.integer()),
        },
        { requiredKeys: ["use"] },
      ),
    );
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.json(),
          keys.map((each) => JSON.stringify({ keys: each })),
        ),
        (text) => {
          expect(typeof spiffeBundleFault(text)).toBe("string");
        },
      ),
      { numRuns: 300 },
    );
  });
});

it("an endpoint is fetched over HTTPS only; its scheme may be missing", () => {
  expect(bundleEndpointUrl("td.example/bundle")).toBe("https://td.example/bundle");
  expect(bundleEndpointUrl("https://td.example:8443")).toBe("https://td.example:8443");
  for (const text of ["http://td.example", "file:///etc/passwd", "", "a b"])
    expect(bundleEndpointUrl(text)).toBeUndefined();
});
