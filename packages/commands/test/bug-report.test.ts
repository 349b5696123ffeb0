import { mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { bugReportCommand, type BugReportOptions } from "@istiod/commands";
import { istioTypes } from "@istiod/commands/testing";
import { unpackTar } from "modern-tar";
import { describe, expect, onTestFinished, test } from "vitest";
import { sharedCluster } from "./cluster-run.js";

const podOf = (namespace: string, name: string, containers: readonly string[], metadata: object = {}): string =>
  JSON.stringify({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { namespace, name, ...metadata },
    spec: { containers: containers.map((each) => ({ name: each, image: "x" })) },
  });

const ofDeployment = (name: string, hash: string, labels: object = {}, annotations: object = {}): object => ({
  labels: { "pod-template-hash": hash, ...labels },
  annotations,
  ownerReferences: [{ apiVersion: "apps/v1", kind: "ReplicaSet", name: `${name}-${hash}`, uid: "1", controller: true }],
});

const definitionOf = (group: string, kind: string): string => {
  const singular = kind.toLowerCase();
  const schema = { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } };
  return JSON.stringify({
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: {
      name: `${singular}s.${group}`,
      annotations: { "api-approved.kubernetes.io": "unapproved, for a test" },
    },
    spec: {
      group,
      scope: "Namespaced",
      names: { kind, plural: `${singular}s`, singular, listKind: `${kind}List` },
      versions: [{ name: "v1", served: true, storage: true, schema }],
    },
  });
};

const mesh = [
  ...["istio-system", "shop", "mail"].map((name) => `{apiVersion: v1, kind: Namespace, metadata: {name: ${name}}}`),
  podOf("istio-system", "istiod-1", ["discovery"]),
  podOf("shop", "web-77-a", ["app", "istio-proxy"], ofDeployment("web", "77", { app: "web" }, { team: "green-1" })),
  podOf("shop", "cart-88-b", ["istio-proxy"], ofDeployment("cart", "88", { app: "cart" })),
  podOf("mail", "smtp", ["istio-proxy"]),
  podOf("mail", "plain", ["app", "discovery"]),
  podOf("kube-system", "agent", ["istio-proxy"]),
  `apiVersion: v1
kind: Secret
metadata:
  name: key
  namespace: shop
  annotations: {note: kept, kubectl.kubernetes.io/last-applied-configuration: '{"data":{"tls.key":"c2VjcmV0IGtleQ=="}}'}
data: {tls.key: c2VjcmV0IGtleQ==}`,
  definitionOf("test.istio.io", "TrafficMirror"),
  definitionOf("inference.networking.k8s.io", "InferencePool"),
  `{apiVersion: networking.istio.io/v1, kind: VirtualService, metadata: {name: web, namespace: shop},
    spec: {hosts: [web], gateways: [absent], http: [{route: [{destination: {host: web}}]}]}}`,
].join("\n---\n");

const lines = ["2026-01-31T09:00:00.5Z one\n", "2026-01-31T10:00:00Z two\n", "2026-01-31T11:00:00Z three\n"];

describe("istiod bug-report", () => {
  const cluster = sharedCluster(mesh, {
    types: istioTypes,
    podLog: ({ container }, query) =>
      `${query.get("timestamps") === "true" ? "" : `${container} `}${[...query].flat().join(" ")}\n${lines.join("")}`,
  });

  const request: BugReportOptions["request"] = async ({ pod, port, path }, timeoutMs) => {
    if (pod === "cart-88-b" && path === "/memory") throw new Error("nothing listens");
    if (pod === "agent" && path === "/certs") {
      // Ends in the same turn as the time of the report, of whose end no timer can have told yet.
      for (const end = performance.now() + timeoutMs; performance.now() < end;);
      throw new Error("no answer");
    }
    return `${pod}:${port} ${path}`;
  };

  const report = async (...args: readonly string[]) => {
    const directory = await mkdtemp(join(tmpdir(), "istiod-bug-report-"));
    onTestFinished(() => rm(directory, { recursive: true }));
    const run = await cluster().run(
      (options) =>
        bugReportCommand({ ...options, request, version: "1.2.3", now: () => Date.parse("2026-01-31T12:00:00Z") }),
      "--output-dir",
      directory,
      ...args,
    );
    const path = join(directory, "bug-report.tar.gz");
    const files = async (): Promise<Readonly<Record<string, string>>> => {
      const entries = await unpackTar(gunzipSync(await readFile(path)));
      return Object.fromEntries(
        entries.map(({ header, data }) => [header.name, Buffer.from(data ?? []).toString()] as const),
      );
    };
    return { ...run, path, files };
  };

  /** Runs the command without reading anything, and returns the containers. */
  const selected = async (...args: readonly string[]): Promise<readonly string[]> => {
    const { out } = await report("--dry-run", ...args);
    return out.split("\n").flatMap((line) => (line.startsWith("  ") ? [line.trim()] : []));
  };

  test("archives objects, findings, logs, and the answers of istiod and Envoys", async () => {
    for (const [apiVersion, kind] of [
      ["test.istio.io/v1", "TrafficMirror"],
      ["inference.networking.k8s.io/v1", "InferencePool"],
    ] as const)
      await cluster().server.objects.create({ apiVersion, kind, metadata: { name: "mirror", namespace: "shop" } });
    const { out, path, files, exit, warnings } = await report();
    expect(out).toContain(`Wrote ${path}\n`);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    const found = await files();
    const file = (name: string): string | undefined => found[`bug-report/${name}`];
    expect(file("versions")).toMatch(/^istiod bug-report: 1\.2\.3\nKubernetes: 1\.\d+\n/);
    expect(file("istio/istio-system/istiod-1/discovery.log")).toContain("one\n");
    expect(file("istio/istio-system/istiod-1/debug/syncz")).toBe("istiod-1:15014 /debug/syncz");
    expect(file("proxies/shop/web-77-a/istio-proxy.log")).toContain("three\n");
    expect(file("proxies/shop/web-77-a/config_dump")).toBe("web-77-a:15000 /config_dump?include_eds");
    expect(file("cluster/k8s-resources/pods.yaml")).toContain(
      "kind: Pod\nmetadata:\n  namespace: shop\n  name: web-77-a",
    );
    expect(file("cluster/crs/trafficmirrors.test.istio.io.yaml")).toContain("kind: TrafficMirror");
    expect(file("cluster/crs/inferencepools.inference.networking.k8s.io.yaml")).toContain("kind: InferencePool");
    expect(file("cluster/secrets")).toContain("tls.key: 10 bytes");
    expect(file("cluster/secrets")).toContain("note: kept");
    expect(file("cluster/secrets")).not.toContain("c2VjcmV0IGtleQ");
    expect(file("analyze/findings")).toContain("IST0132");
    // One part is missing, and said to be.
    expect(exit).toBe(3);
    expect(warnings).toMatch(/^Warning: proxies\/shop\/cart-88-b\/memory: nothing listens\n$/);
    expect(file("errors")).toMatch(/^proxies\/shop\/cart-88-b\/memory: /);
  });

  test("has the values of Secrets, a part of the logs, and less, if asked", async () => {
    const { files, exit } = await report(
      ...["--full-secrets", "--skip-analyze", "--skip-proxy-debug", "--include", "mail", "--include", "istio-system"],
      ...["--end-time", "2026-01-31T10:30:00Z", "--duration", "2h", "--tail", "7"],
    );
    expect(exit).toBeUndefined();
    const found = await files();
    expect(found["bug-report/cluster/secrets"]).toContain("tls.key: c2VjcmV0IGtleQ==");
    expect(found["bug-report/analyze/findings"]).toBeUndefined();
    expect(Object.keys(found).filter((name) => name.includes("/proxies/"))).toEqual([
      "bug-report/proxies/mail/smtp/istio-proxy.log",
    ]);
    // Lines after the end, and without a time, are cut.
    expect(found["bug-report/proxies/mail/smtp/istio-proxy.log"]).toBe("one\ntwo\n");
    const asked = cluster().server.requests.findLast(({ path }) => path.endsWith("/smtp/log"));
    expect(asked?.query).toEqual({
      container: "istio-proxy",
      timestamps: "true",
      sinceTime: "2026-01-31T08:30:00.000Z",
      tailLines: "7",
    });
    const bare = await (await report("--skip-cluster-dump", "--skip-analyze", "--include", "mail")).files();
    expect(Object.keys(bare).some((name) => name.includes("/cluster/"))).toBe(false);
  });

  test.each([
    [
      [],
      [
        "istio-system/istiod-1/discovery",
        "mail/smtp/istio-proxy",
        "shop/cart-88-b/istio-proxy",
        "shop/web-77-a/istio-proxy",
      ],
    ],
    [["--include", "kube-system"], ["kube-system/agent/istio-proxy"]],
    [["--include", "shop/we?"], ["shop/web-77-a/istio-proxy"]],
    [["--include", "*/*/cart*"], ["shop/cart-88-b/istio-proxy"]],
    [
      ["--include", "shop,mail///app"],
      ["shop/cart-88-b/istio-proxy", "shop/web-77-a/istio-proxy"],
    ],
    [["--include", "////team=green*"], ["shop/web-77-a/istio-proxy"]],
    [["--include", "////team=blue"], []],
    [["--include", "/////disc*"], ["istio-system/istiod-1/discovery"]],
    [["--include", "shop", "--exclude", "*/web"], ["shop/cart-88-b/istio-proxy"]],
    [["--exclude", "shop,istio-*"], ["mail/smtp/istio-proxy"]],
  ])("%j selects containers", async (args, expected) => {
    expect(await selected(...args)).toEqual(expected);
  });

  test.each([
    [["--include", "a/b/c/d/e/f/g"], "has 7 parts, expected at most"],
    [["--start-time", "yesterday"], "expected a time such as 2026-01-31T09:00:00Z"],
    [["--duration", "5"], "expected a duration such as 30m"],
    [["--duration", "5m", "--start-time", "2026-01-31T09:00:00Z"], "cannot be used with option"],
    [["--tail", "0"], "expected a whole number of at least 1"],
  ])("%j is rejected", async (args, message) => {
    await expect(report(...args)).rejects.toThrow(message);
  });

  test("writes what was read when the time is over", async () => {
    const flags = ["--skip-cluster-dump", "--skip-analyze", "--rq-concurrency", "1", "--include", "kube-system"];
    const { exit, files } = await report("--timeout", "1s", ...flags);
    expect(exit).toBe(3);
    const found = await files();
    expect(found["bug-report/proxies/kube-system/agent/istio-proxy.log"]).toContain("three\n");
    const late = [
      "certs",
      "clusters",
      "config_dump",
      "listeners",
      "memory",
      "runtime",
      "server_info",
      "stats_prometheus",
    ];
    expect(found["bug-report/errors"]).toBe(
      late.map((name) => `proxies/kube-system/agent/${name}: not collected in time\n`).join(""),
    );
  });
});
