import fc from "fast-check";
import { expect, it } from "vitest";
import { JwksError, keySetFetcher } from "../src/index.js";

/** Number of documents of each kind. CI runs a sample; `HOSTILE_DOCUMENTS=10000` runs as many. */
const numRuns = Number(process.env["HOSTILE_DOCUMENTS"] ?? 500);

const fragments = ["{", "}", "[", "]", '"jwks_uri"', ":", ",", '"http://a/jwks"', "null", "1e999", '"', "\\", "\u0000"];
const text = fc.oneof(
  fc.string({ unit: "binary", maxLength: 200 }),
  fc.array(fc.constantFrom(...fragments), { maxLength: 60 }).map((parts) => parts.join("")),
  fc.json(),
  fc.jsonValue({ maxDepth: 5 }).map((value) => JSON.stringify({ jwks_uri: value })),
  fc.integer({ min: 1, max: 100_000 }).map((depth) => "[".repeat(depth)),
  fc.integer({ min: 1, max: 100_000 }).map((depth) => `${"[".repeat(depth)}${"]".repeat(depth)}`),
  fc.integer({ min: 1, max: 20_000 }).map((depth) => `${'{"jwks_uri":'.repeat(depth)}1${"}".repeat(depth)}`),
  fc.constantFrom('{"__proto__":{"jwks_uri":"http://evil/"}}', '{"constructor":{"jwks_uri":"x"}}', '"jwks_uri"', ""),
);

it("of OpenID discovery lead to a URI or to a clean error", async () => {
  let found = 0;
  await fc.assert(
    fc.asyncProperty(text, async (document) => {
      const asked: string[] = [];
      const client = {
        get: (url: string): Promise<string> => {
          asked.push(url);
          return Promise.resolve(asked.length === 1 ? document : "keys");
        },
      };
      const fetch = keySetFetcher({ client, fault: () => undefined });
      const source = { issuer: "https://issuer/", jwksUri: "", timeoutMs: 1000 };
      const result = await fetch(source, new AbortController().signal).catch((error: unknown) => error);
      if (result === "keys") {
        found++;
        expect(asked).toHaveLength(2);
        expect(asked[1]).toBe((JSON.parse(document) as Record<string, unknown>)["jwks_uri"]);
      } else {
        expect(result).toBeInstanceOf(JwksError);
        expect((result as JwksError).code).toBe("document");
      }
      expect(asked[0]).toBe("https://issuer/.well-known/openid-configuration");
    }),
    { numRuns },
  );
  expect(found).toBeGreaterThan(0);
}, 300_000);

it.each(["issuer", "ftp://issuer", "javascript:alert(1)", "//issuer", "http:issuer"])(
  "are not asked for of an issuer that is no URL: %s",
  async (issuer) => {
    const client = { get: (): Promise<string> => Promise.reject(new Error("asked")) };
    const fetched = keySetFetcher({ client, fault: () => undefined })(
      { issuer, jwksUri: "", timeoutMs: 1000 },
      new AbortController().signal,
    );
    await expect(fetched).rejects.toMatchObject({ code: "url" });
  },
);
