import { absence, chartInstallation, filesOf } from "@istiod/injector/testing";
import fc from "fast-check";
import { expect, test } from "vitest";
import { reviewOf, serveInjection } from "./injection-webhook.js";

/** CI runs a sample; HOSTILE_REVIEWS=10000 runs all. */
const runs = Number(process.env["HOSTILE_REVIEWS"] ?? 1000);

const pod = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: {
    name: "web",
    namespace: "shop",
    labels: { app: "web", "istio.io/rev": "default" },
    annotations: {
      "inject.istio.io/templates": "sidecar",
      "proxy.istio.io/config": '{"concurrency": 2}',
      "sidecar.istio.io/proxyCPU": "100m",
      "sidecar.istio.io/userVolume": '{"extra":{"emptyDir":{}}}',
      "traffic.sidecar.istio.io/excludeInboundPorts": "8080",
      "sidecar.istio.io/status": '{"containers":["istio-proxy"]}',
      "prometheus.io/scrape": "true",
    },
    ownerReferences: [{ apiVersion: "apps/v1", kind: "ReplicaSet", name: "web-5d4f8c7b9", uid: "1", controller: true }],
  },
  spec: {
    serviceAccountName: "web",
    initContainers: [{ name: "before", image: "busybox", args: ["sh"] }],
    containers: [
      {
        name: "app",
        image: "shop/web",
        ports: [{ name: "http", containerPort: 8080 }],
        env: [{ name: "A", value: "b" }],
        readinessProbe: { httpGet: { path: "/ready", port: "http" } },
        resources: { limits: { memory: "1Gi" } },
      },
      { name: "istio-proxy", image: "auto", resources: {} },
    ],
    volumes: [{ name: "data", emptyDir: {} }],
  },
};
const review = reviewOf(pod);

/** Paths of all values below a value. */
function pathsOf(value: unknown, path: readonly string[] = []): readonly (readonly string[])[] {
  if (typeof value !== "object" || value === null) return [path];
  return [path, ...Object.entries(value).flatMap(([key, inner]) => pathsOf(inner, [...path, key]))];
}

function withValueAt(value: unknown, [key, ...rest]: readonly string[], replacement: unknown): unknown {
  if (key === undefined) return replacement;
  if (typeof value !== "object" || value === null) return value;
  const copy: Record<string, unknown> = Array.isArray(value) ? ([...value] as never) : { ...value };
  copy[key] = withValueAt(copy[key], rest, replacement);
  return copy;
}

const nested = (levels: number): unknown =>
  Array.from({ length: levels }).reduce<unknown>((inner) => ({ a: [inner] }), 1);

const texts = [
  "{{ .Values.global | toYaml }}",
  "{{ range $i := until 1000000000 }}x{{ end }}",
  '{{ template "x" }}',
  "{{",
  "}}",
  "a\n    securityContext: {privileged: true}",
  '"\n  hostNetwork: true #',
  "'}, {name: evil, image: evil}",
  "&a [*a, *a]",
  "!!js/function x",
  "a\u0000b",
  "\ud800",
  "\u2028",
  "__proto__",
  "constructor",
  "(a+)+$",
  `${"[".repeat(2000)}`,
  `{"a":`.repeat(2000),
  "x".repeat(200_000),
  "1e999999999",
  "-1",
  "",
];
const hostile = fc.oneof(
  fc.constantFrom<unknown>(...texts),
  fc.constantFrom<unknown>(
    ...[null, true, -1, 0.5, 1e308, 2 ** 53, [], {}, [[]], [null], { "": "" }],
    ...[JSON.parse('{"__proto__":{"allowed":true}}') as unknown, nested(90), nested(500)],
    ...[Array(5000).fill("*"), Array(2000).fill({ name: "istio-proxy" })],
    Object.fromEntries(Array.from({ length: 5000 }, (_, i) => [`k${i}`, "v"])),
    { ["k".repeat(50_000)]: "v" },
  ),
  fc.jsonValue(),
  fc.string(),
);

const body = fc
  .record({
    path: fc.constantFrom(...pathsOf(review)),
    value: hostile,
    second: fc.constantFrom(...pathsOf(pod)),
    secondValue: hostile,
    kept: fc.oneof(
      { weight: 9, arbitrary: fc.constant(1) },
      { weight: 1, arbitrary: fc.double({ min: 0, max: 1, noNaN: true }) },
    ),
    place: fc.constantFrom("/inject", "/inject/cluster/a/net/b", "/inject/cluster/%7B%7B/net/%0A", "/inject/x"),
  })
  .map(({ path, value, second, secondValue, kept, place }) => {
    const changed = withValueAt(withValueAt(review, ["request", "object", ...second], secondValue), path, value);
    const text = JSON.stringify(changed ?? null);
    return { text: text.slice(0, Math.ceil(text.length * kept)), place };
  });

test(
  "hostile reviews on /inject get a verdict or a clean error, in bounded time and memory",
  { timeout: 3_000_000 },
  async ({ skip }) => {
    skip(absence !== undefined, absence);
    const { post, istiod } = await serveInjection(filesOf({ input: "" }, chartInstallation()));
    const outcomes = { injected: 0, allowed: 0, refused: 0, unread: 0 };
    const most = { cpuMilliseconds: 0, heapGrowth: 0 };
    const before = process.memoryUsage().heapUsed;
    await fc.assert(
      fc.asyncProperty(body, async ({ text, place }) => {
        const start = process.cpuUsage();
        const answer = await post(text, place);
        const { user, system } = process.cpuUsage(start);
        most.cpuMilliseconds = Math.max(most.cpuMilliseconds, (user + system) / 1000);
        most.heapGrowth = Math.max(most.heapGrowth, process.memoryUsage().heapUsed - before);
        expect([200, 400, 404, 413, 415]).toContain(answer.status);
        if (answer.status !== 200) {
          expect(answer.body.length).toBeLessThan(2000);
          outcomes.unread++;
          return;
        }
        const { response } = JSON.parse(answer.body) as {
          readonly response: {
            readonly allowed: boolean;
            readonly patch?: string;
            readonly status?: { message: string };
          };
        };
        if (response.allowed) outcomes[response.patch === undefined ? "allowed" : "injected"]++;
        else {
          expect(response.status?.message).not.toBe("");
          outcomes.refused++;
        }
      }),
      { numRuns: runs, seed: 15 },
    );
    expect(outcomes.injected).toBeGreaterThan(runs / 20);
    expect(outcomes.refused).toBeGreaterThan(runs / 20);
    expect(outcomes.unread).toBeGreaterThan(runs / 50);
    // CPU time of this process for one review, and the largest heap between two collections.
    expect(most.cpuMilliseconds).toBeLessThan(5000);
    expect(most.heapGrowth).toBeLessThan(1024 * 1024 * 1024);
    expect((await post(JSON.stringify(review))).status).toBe(200);
    expect(istiod.lines.length).toBeLessThan(runs * 3 + 1000);
  },
);
