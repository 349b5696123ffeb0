import {
  clusterOfKubeconfig,
  IngestionError,
  type OfferedClusters,
  RemoteClusters,
  sanitizeKubeconfig,
} from "@istiod/config-ingestion";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

interface Kubeconfig {
  clusters: { name: string; cluster: Record<string, unknown> }[];
  users: { name: string; user: Record<string, unknown> }[];
  contexts: { name: string; context: Record<string, unknown> }[];
  "current-context": string;
}

const kubeconfig = (user: Record<string, unknown> = { token: "t0ken" }): Kubeconfig => ({
  clusters: [{ name: "east", cluster: { server: "https://192.0.2.1:6443" } }],
  users: [{ name: "reader", user }],
  contexts: [{ name: "east-reader", context: { cluster: "east", user: "reader" } }],
  "current-context": "east-reader",
});
const text = (user?: Record<string, unknown>): string => JSON.stringify(kubeconfig(user));
const edited = (edit: (config: Kubeconfig) => void): string => {
  const config = kubeconfig();
  edit(config);
  return JSON.stringify(config);
};

describe("a kubeconfig from a Secret", () => {
  test("keeps credentials that are given literally", () => {
    const user = {
      token: "t0ken",
      "client-certificate-data": "Yw==",
      "client-key-data": "aw==",
      as: "reader",
      "as-groups": ["readers"],
      "auth-provider": { name: "oidc", config: { "idp-issuer-url": "https://issuer.example" } },
    };
    expect((JSON.parse(sanitizeKubeconfig(text(user))) as Kubeconfig).users).toEqual([{ name: "reader", user }]);
  });

  test("loses fields of users that are unknown", () => {
    expect((JSON.parse(sanitizeKubeconfig(text({ token: "t", newMethod: "x" }))) as Kubeconfig).users).toEqual([
      { name: "reader", user: { token: "t" } },
    ]);
  });

  test.each([
    ["client-certificate", "/etc/passwd", "clientCertificate"],
    ["client-key", "/etc/passwd", "clientKey"],
    ["tokenFile", "/var/run/secrets/token", "tokenFile"],
    ["token-file", "/var/run/secrets/token", "tokenFile"],
    ["exec", { command: "sh", args: ["-c", "id"] }, "exec"],
    ["auth-provider", { name: "gcp", config: { "cmd-path": "sh" } }, "gcp"],
  ])("may have %s only if it is allowed", (field, value, option) => {
    const config = text({ [field]: value });
    expect(() => sanitizeKubeconfig(config)).toThrow(
      new IngestionError(
        "invalid",
        `kubeconfig: users["reader"].user.${field}: is not allowed, because it could disclose credentials of istiod; ` +
          `PILOT_INSECURE_MULTICLUSTER_KUBECONFIG_OPTIONS=${option} allows it`,
      ),
    );
    expect((JSON.parse(sanitizeKubeconfig(config, new Set([option]))) as Kubeconfig).users[0]?.user).toEqual({
      [field]: value,
    });
  });

  test.each([
    ["tokenFile", "/var/run/secrets/token", "tokenFile"],
    ["token-file", "/var/run/secrets/token", "tokenFile"],
    ["exec", { command: "sh", args: ["-c", "id"] }, "exec"],
    ["cmd-path", "/bin/sh", "exec"],
    ["cmd-args", "-c id", "exec"],
    ["idp-certificate-authority", "/etc/passwd", "certificateAuthority"],
  ])("may have %s in the configuration of oidc only if it is allowed", (field, value, option) => {
    const provider = { name: "oidc", config: { "client-id": "istiod", [field]: value } };
    const config = text({ "auth-provider": provider });
    expect(() => sanitizeKubeconfig(config)).toThrow(
      `kubeconfig: users["reader"].user.auth-provider.config.${field}: is not allowed, because it could disclose ` +
        `credentials of istiod; PILOT_INSECURE_MULTICLUSTER_KUBECONFIG_OPTIONS=${option} allows it`,
    );
    expect((JSON.parse(sanitizeKubeconfig(config, new Set([option]))) as Kubeconfig).users[0]?.user).toEqual({
      "auth-provider": provider,
    });
  });

  test("has no token file or program for an allowed provider without their own options", () => {
    const withConfig = (config: object) => text({ "auth-provider": { name: "gcp", config } });
    const allowed = new Set(["gcp"]);
    expect(() => sanitizeKubeconfig(withConfig({ tokenFile: "/token" }), allowed)).toThrow("config.tokenFile: is not");
    expect(() => sanitizeKubeconfig(withConfig({ exec: { command: "id" } }), allowed)).toThrow("config.exec: is not");
    expect(() => sanitizeKubeconfig(withConfig({ "cmd-path": "gcloud" }), allowed)).not.toThrow();
  });

  test("loses unknown configuration of oidc, and has strings only", () => {
    const withConfig = (config: unknown) => text({ "auth-provider": { name: "oidc", config } });
    expect((JSON.parse(sanitizeKubeconfig(withConfig({ new: "x" }))) as Kubeconfig).users[0]?.user).toEqual({
      "auth-provider": { name: "oidc", config: {} },
    });
    const at = 'kubeconfig: users["reader"].user.auth-provider.config';
    expect(() => sanitizeKubeconfig(withConfig({ "id-token": { a: "b" } }))).toThrow(`${at}.id-token: is no string`);
    expect(() => sanitizeKubeconfig(withConfig(["tokenFile"]))).toThrow(`${at}: is no mapping`);
  });

  test("may have a file as the certificate authority of any cluster only if it is allowed", () => {
    const config = edited((c) =>
      c.clusters.push({ name: "other", cluster: { server: "https://other", "certificate-authority": "/etc/passwd" } }),
    );
    expect(() => sanitizeKubeconfig(config)).toThrow(
      'kubeconfig: clusters["other"].cluster.certificate-authority: is not allowed',
    );
    expect(() => sanitizeKubeconfig(config, new Set(["certificateAuthority"]))).not.toThrow();
  });

  test("is checked for every user, not only that of the current context", () => {
    const config = edited((c) => c.users.push({ name: "other", user: { exec: { command: "sh" } } }));
    expect(() => sanitizeKubeconfig(config)).toThrow('users["other"].user.exec: is not allowed');
  });

  test.each([
    ["", "is empty"],
    ["a: [", "is not YAML, see line 1"],
    ["[]", "is not a mapping"],
    [edited((c) => (c["current-context"] = "")), "current-context: is missing"],
    [edited((c) => (c["current-context"] = "west")), 'current-context: "west" is no context'],
    [edited((c) => (c.users = [])), "contexts: the current context has no user in users"],
    [edited((c) => (c.clusters = [])), "contexts: the current context has no cluster in clusters"],
    [edited((c) => (c.clusters = "x" as never)), "clusters: is no list"],
    [
      edited((c) => (c.clusters[0] = { name: "east", cluster: {} })),
      'clusters["east"].cluster.server: is missing, expected a URL',
    ],
    [
      edited((c) => (c.clusters[0] = { name: "east", cluster: { server: "file:///etc/passwd" } })),
      'clusters["east"].cluster.server: is no URL of http or https',
    ],
  ])("%j is rejected: %s", (config, message) => {
    expect(() => sanitizeKubeconfig(config)).toThrow(new IngestionError("invalid", `kubeconfig: ${message}`));
  });

  test("never shows its text in an error", () => {
    expect(() => sanitizeKubeconfig("users:\n- secret-t0ken: {\n")).toThrow(/^(?!.*t0ken)/s);
  });
});

test("a kubeconfig file is of the cluster of its current context, of its first context, or its first cluster", () => {
  expect(clusterOfKubeconfig(text())).toBe("east");
  const others = {
    contexts: [
      { name: "b", context: { cluster: "two" } },
      { name: "a", context: { cluster: "one" } },
    ],
  };
  expect(clusterOfKubeconfig(JSON.stringify(others))).toBe("one");
  expect(clusterOfKubeconfig('{"clusters": [{"name": "y"}, {"name": "x"}]}')).toBe("x");
  expect(() => clusterOfKubeconfig("{}")).toThrow("kubeconfig: names no cluster");
});

const offers = (...of: [origin: string, clusters: Record<string, string> | undefined][]) =>
  new Map<string, OfferedClusters>(
    of.map(([origin, clusters]) => [origin, clusters === undefined ? undefined : new Map(Object.entries(clusters))]),
  );
const summary = (changes: ReturnType<RemoteClusters["update"]>): string[] =>
  changes.map((change) =>
    change.type === "remove"
      ? `remove ${change.cluster}`
      : `${change.type} ${change.remote.cluster} of ${change.remote.origin}`,
  );

describe("remote clusters", () => {
  test("follow the Secrets that name them", () => {
    const clusters = new RemoteClusters({ configCluster: "own" });
    expect(summary(clusters.update(offers(["a", { east: text(), west: text() }])))).toEqual([
      "add east of a",
      "add west of a",
    ]);
    expect(summary(clusters.update(offers(["a", { east: text(), west: text() }])))).toEqual([]);
    expect(summary(clusters.update(offers(["a", { east: text({ token: "rotated" }), west: text() }])))).toEqual([
      "replace east of a",
    ]);
    expect(summary(clusters.update(offers(["a", { east: text({ token: "rotated" }) }])))).toEqual(["remove west"]);
    expect(summary(clusters.update(offers(["a", undefined])))).toEqual(["remove east"]);
  });

  test("keep the last good kubeconfig when a rotation writes a bad one", () => {
    const clusters = new RemoteClusters({ configCluster: "own" });
    clusters.update(offers(["a", { east: text() }]));
    expect(clusters.update(offers(["a", { east: "" }]))).toEqual([]);
    expect(clusters.active().map(({ cluster }) => cluster)).toEqual(["east"]);
    expect(clusters.problems()).toEqual([
      {
        severity: "error",
        origin: "a",
        cluster: "east",
        message: "kubeconfig: is empty; the last good kubeconfig stays active",
      },
    ]);
    expect(clusters.update(offers(["a", { east: text() }]))).toEqual([]);
    expect(clusters.problems()).toEqual([]);
  });

  test("that two Secrets name stay with the first, and pass to the other when it is deleted", () => {
    const clusters = new RemoteClusters({ configCluster: "own" });
    expect(summary(clusters.update(offers(["b", { east: text({ token: "b" }) }])))).toEqual(["add east of b"]);
    expect(summary(clusters.update(offers(["a", { east: text({ token: "a" }) }])))).toEqual([]);
    expect(clusters.problems()).toEqual([
      {
        severity: "warning",
        origin: "a",
        cluster: "east",
        message: "cluster east is ignored, because b gives access to it",
      },
    ]);
    expect(summary(clusters.update(offers(["b", undefined])))).toEqual(["replace east of a"]);
    expect(clusters.problems()).toEqual([]);
  });

  test("move from one Secret to another without a gap", () => {
    const clusters = new RemoteClusters({ configCluster: "own" });
    clusters.update(offers(["a", { east: text({ token: "a" }) }]));
    expect(summary(clusters.update(offers(["a", undefined], ["b", { east: text({ token: "b" }) }])))).toEqual([
      "replace east of b",
    ]);
  });

  test("never include the cluster of the configuration", () => {
    const clusters = new RemoteClusters({ configCluster: "own" });
    expect(clusters.update(offers(["a", { own: text() }]))).toEqual([]);
    expect(clusters.problems()).toEqual([
      {
        severity: "warning",
        origin: "a",
        cluster: "own",
        message: "own is the cluster of this istiod's configuration, and is ignored",
      },
    ]);
  });

  test("have names that can be part of keys", () => {
    const clusters = new RemoteClusters({ configCluster: "own", otherClusters: new Map([["files", "--clusterDir"]]) });
    expect(clusters.update(offers(["a", { "": text(), "b/c": text(), files: text() }]))).toEqual([]);
    expect(clusters.problems().map(({ severity, message }) => `${severity}: ${message}`)).toEqual([
      'error: "" is no ID of a cluster, expected a name without /',
      'error: "b/c" is no ID of a cluster, expected a name without /',
      "warning: cluster files is ignored, because --clusterDir gives access to it",
    ]);
  });

  test("are those that any Secret names, after any sequence of edits", () => {
    const content = fc.option(
      fc.dictionary(fc.constantFrom("east", "west", "north"), fc.constantFrom("1", "2", "bad"), { maxKeys: 3 }),
      { nil: undefined },
    );
    const edit = fc.tuple(fc.constantFrom("a", "b", "c"), content);
    fc.assert(
      fc.property(fc.array(edit, { maxLength: 20 }), (edits) => {
        const clusters = new RemoteClusters({ configCluster: "own" });
        const connected = new Map<string, string>();
        const lastGood = new Map<string, Set<string>>();
        for (const [origin, of] of edits) {
          const texts = Object.entries(of ?? {}).map(([c, t]) => [c, t === "bad" ? t : text({ token: t })] as const);
          for (const change of clusters.update(offers([origin, of && Object.fromEntries(texts)]))) {
            if (change.type === "remove") expect(connected.delete(change.cluster)).toBe(true);
            else {
              expect(connected.has(change.remote.cluster)).toBe(change.type === "replace");
              connected.set(change.remote.cluster, change.remote.kubeconfig);
            }
          }
          const before = lastGood.get(origin) ?? new Set();
          const isGood = ([c, t]: [string, string]): boolean => t !== "bad" || before.has(c);
          lastGood.set(
            origin,
            new Set(
              Object.entries(of ?? {})
                .filter(isGood)
                .map(([c]) => c),
            ),
          );
          expect([...connected.keys()].sort()).toEqual(
            [...new Set([...lastGood.values()].flatMap((s) => [...s]))].sort(),
          );
        }
        expect(clusters.active().map((r) => [r.cluster, r.kubeconfig])).toEqual([...connected].sort());
      }),
    );
  });
});
