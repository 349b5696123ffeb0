import { AdmissionError, encodeReview, readReview } from "@istiod/admission";
import { validationWebhook } from "@istiod/validation";
import fc from "fast-check";
import { expect, it } from "vitest";

const object = {
  apiVersion: "networking.istio.io/v1",
  kind: "VirtualService",
  metadata: { name: "cart", namespace: "shop", labels: { app: "cart" }, annotations: { note: "x" } },
  spec: {
    hosts: ["cart.example.com"],
    gateways: ["mesh"],
    http: [
      {
        name: "first",
        match: [{ uri: { regex: "/v[12]" }, headers: { end: { exact: "x" } } }],
        route: [{ destination: { host: "cart", subset: "v1", port: { number: 80 } }, weight: 100 }],
        timeout: "1s",
        retries: { attempts: 2, retryOn: "5xx" },
      },
    ],
  },
};
const review = {
  kind: "AdmissionReview",
  apiVersion: "admission.k8s.io/v1",
  request: { uid: "705ab4f5", operation: "CREATE", namespace: "shop", userInfo: { username: "ada" }, object },
};

/** Paths of all values of a review. */
function pathsOf(value: unknown, path: readonly string[] = []): readonly (readonly string[])[] {
  if (typeof value !== "object" || value === null) return [path];
  return [path, ...Object.entries(value).flatMap(([key, inner]) => pathsOf(inner, [...path, key]))];
}

function withValueAt(value: unknown, [key, ...rest]: readonly string[], replacement: unknown): unknown {
  if (key === undefined) return replacement;
  const copy: Record<string, unknown> = Array.isArray(value) ? ([...value] as never) : { ...(value as object) };
  copy[key] = withValueAt(copy[key], rest, replacement);
  return copy;
}

const nested = (levels: number): unknown =>
  Array.from({ length: levels }).reduce<unknown>((inner) => ({ a: [inner] }), 1);

const hostile = fc.oneof(
  fc.constantFrom<unknown>(
    ...[
      "{{ .Values.global | toYaml }}",
      "${jndi:ldap://a}",
      "---\nkind: Pod",
      "%!s(nil)",
      "a\u0000b",
      "\ud800",
      "../../etc",
    ],
    ...["__proto__", "constructor", "(a+)+$", "(".repeat(500), "x".repeat(100_000), "\u202e", ""],
    ...[null, true, -1, 1e308, 2 ** 53, [], {}, [[]], { "": "" }],
    ...[JSON.parse('{"__proto__":{"allowed":true}}') as unknown, nested(90), nested(500)],
    ...[Array(20_000).fill("*"), Object.fromEntries(Array.from({ length: 5000 }, (_, i) => [`k${i}`, i]))],
    { ["k".repeat(50_000)]: 1 },
  ),
  fc.jsonValue(),
);

const body = fc
  .record({
    path: fc.constantFrom(...pathsOf(review)),
    value: hostile,
    second: fc.constantFrom(...pathsOf(object)),
    kept: fc.oneof(
      { weight: 9, arbitrary: fc.constant(1) },
      { weight: 1, arbitrary: fc.double({ min: 0, max: 1, noNaN: true }) },
    ),
  })
  .map(({ path, value, second, kept }) => {
    const text = JSON.stringify(
      withValueAt(withValueAt(review, ["request", "object", ...second], value), path, value) ?? null,
    );
    return { text: text.slice(0, Math.ceil(text.length * kept)), isWhole: kept === 1 };
  });

const cases = Number(process.env["HOSTILE_REVIEWS"] ?? 4000);

it("hostile reviews are answered with a verdict of bounded length, or a clean error", async () => {
  const admit = validationWebhook();
  const context = { url: new URL("http://localhost/validate"), signal: new AbortController().signal };
  const counts = { allowed: 0, denied: 0, unread: 0 };
  await fc.assert(
    fc.asyncProperty(body, async ({ text }) => {
      let read;
      try {
        read = readReview(Buffer.from(text));
      } catch (error) {
        expect(error).toBeInstanceOf(AdmissionError);
        expect((error as AdmissionError).message.length).toBeLessThan(1000);
        counts.unread++;
        return;
      }
      const answer = encodeReview(read, await admit(read.request, context));
      expect(answer.length).toBeLessThan(200_000 + 4 * read.request.uid.length);
      const { response } = JSON.parse(answer) as {
        response: { uid: string; allowed: boolean; status?: { message: string } };
      };
      expect(response.uid).toBe(read.request.uid);
      if (!response.allowed)
        expect(response.status?.message).toMatch(/^(configuration is invalid|cannot decode|unrecognized type)/);
      counts[response.allowed ? "allowed" : "denied"]++;
    }),
    { numRuns: cases, seed: 15 },
  );
  // Each outcome occurs often, so that no branch is tested by accident only.
  for (const count of Object.values(counts)) expect(count).toBeGreaterThan(100);
}, 300_000);
