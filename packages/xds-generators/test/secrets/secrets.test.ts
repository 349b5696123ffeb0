import { createRegistry, fromBinary, type JsonObject, toJson } from "@bufbuild/protobuf";
import { file_contrib_envoy_extensions_private_key_providers_cryptomb_v3alpha_cryptomb as cryptomb } from "@istiod/envoy-api/contrib/envoy/extensions/private_key_providers/cryptomb/v3alpha/cryptomb";
import { SecretSchema } from "@istiod/envoy-api/envoy/extensions/transport_sockets/tls/v3/secret";
import {
  proxyFromNode,
  secretClusters,
  secretPermissionKey,
  secretPermissionRequired,
  secretPermissions,
} from "@istiod/push-context";
import { mint, mintRevocationList } from "@istiod/ca/testing";
import type { Resource } from "@istiod/resources";
import { describe, expect, it } from "vitest";
import { lookups, secretLookup } from "../../src/index.js";
import { secrets } from "../../src/secrets/index.js";
import { istioYaml } from "../mesh-yaml.js";
import { TestMesh } from "../mesh.js";

const secretOf = lookups["type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret"]!;
const pair = await mint({});
const generic = await mint({});
/** Content that stands for its name in the tests: certificates, keys and what belongs to them. */
const material: Readonly<Record<string, string | Uint8Array>> = {
  CHAIN: pair.pem,
  KEY: pair.keyPem,
  C: generic.pem,
  K: generic.keyPem,
  "THE KEY": generic.keyPem,
  ROOTS: pair.pem,
  R: pair.pem,
  OTHER: generic.pem,
  REVOKED: await mintRevocationList(pair),
  STAPLE: Uint8Array.of(0x30, 5, 0x0a, 1, 0, 0xa0, 0),
  S: Uint8Array.of(0x30, 5, 0x0a, 1, 0, 0xa0, 0),
};
const base64 = (name: string): string => Buffer.from(material[name] ?? name).toString("base64");

describe("secrets of gateways", () => {
  it("include a certificate for an authenticated proxy", () => {
    const mesh = new TestMesh(
      edge("front") + secret("front", { "tls.crt": "CHAIN", "tls.key": "KEY", "tls.ocsp-staple": "STAPLE" }),
    );
    const expected = {
      tlsCertificate: {
        certificateChain: { inlineBytes: base64("CHAIN") },
        privateKey: { inlineBytes: base64("KEY") },
        ocspStaple: { inlineBytes: base64("STAPLE") },
      },
    };
    expect(gateway(mesh).json("kubernetes://front")).toEqual({ name: "kubernetes://front", ...expected });
    expect(gateway(mesh).json("kubernetes://edge/front")).toEqual({ name: "kubernetes://edge/front", ...expected });
  });

  it("prefer non-empty entries cert and key", () => {
    const both = { cert: "C", key: "K", "tls.crt": "CHAIN", "tls.key": "KEY" };
    const mesh = new TestMesh(edge("both", "half") + secret("both", both) + secret("half", { ...both, cert: "" }));
    expect(gateway(mesh).json("kubernetes://both")).toMatchObject({
      tlsCertificate: { certificateChain: { inlineBytes: base64("C") } },
    });
    expect(gateway(mesh).json("kubernetes://half")).toMatchObject({
      tlsCertificate: { certificateChain: { inlineBytes: base64("CHAIN") } },
    });
  });

  it("include roots from a separate Secret, or from the key's", () => {
    const mesh = new TestMesh(
      edge("mutual") + secret("mutual", { cert: "C", key: "K", cacert: "ROOTS", crl: "REVOKED" }),
    );
    const beside = { trustedCa: { inlineBytes: base64("ROOTS") }, crl: { inlineBytes: base64("REVOKED") } };
    expect(gateway(mesh).json("kubernetes://mutual-cacert")).toEqual({
      name: "kubernetes://mutual-cacert",
      validationContext: beside,
    });
    mesh.apply(secret("mutual-cacert", { "ca.crt": "OTHER" }));
    expect(gateway(mesh).json("kubernetes://mutual-cacert")?.["validationContext"]).toEqual({
      trustedCa: { inlineBytes: base64("OTHER") },
    });
  });

  it.each(["", "\n", " \r\n\t"])("have no revocation lists if these are cleared to %j", (cleared) => {
    const mesh = new TestMesh(
      edge("mutual") + secret("mutual", { cert: "C", key: "K", cacert: "ROOTS", crl: "REVOKED" }),
    );
    expect(gateway(mesh).json("kubernetes://mutual-cacert")?.["validationContext"]).toHaveProperty("crl");
    mesh.apply(secret("mutual", { cert: "C", key: "K", cacert: "ROOTS", crl: cleared }));
    expect(gateway(mesh).json("kubernetes://mutual-cacert")?.["validationContext"]).toEqual({
      trustedCa: { inlineBytes: base64("ROOTS") },
    });
  });

  it("include roots from a ConfigMap in any namespace for authenticated clients", () => {
    const mesh = new TestMesh(
      document({ kind: "ConfigMap", metadata: { name: "roots", namespace: "other" }, data: { "ca.crt": pair.pem } }),
    );
    expect(gateway(mesh).json("configmap://other/roots")?.["validationContext"]).toEqual({
      trustedCa: { inlineBytes: base64("ROOTS") },
    });
    expect(gateway(mesh).json("configmap://other/roots-cacert")?.["validationContext"]).toEqual({
      trustedCa: { inlineBytes: base64("ROOTS") },
    });
    expect(gateway(mesh, { verified: undefined }).json("configmap://other/roots")).toBeUndefined();
  });

  it("are denied to unauthenticated proxies, and to those of another namespace whatever they claim", () => {
    const mesh = new TestMesh(edge("front") + secret("front", { cert: "C", key: "K", cacert: "R" }));
    for (const name of ["kubernetes://front", "kubernetes://edge/front", "kubernetes://edge/front-cacert"]) {
      expect(gateway(mesh, { verified: undefined }).json(name)).toBeUndefined();
      expect(gateway(mesh, { verified: "shop" }).json(name)).toBeUndefined();
    }
    expect(gateway(mesh).json("kubernetes://front")).toBeDefined();
  });

  it("of the Gateway API are served only if a Gateway of the proxy references them", () => {
    const name = "kubernetes-gateway://edge/front";
    const mesh = new TestMesh(edge("other") + secret("front", { cert: "C", key: "K", cacert: "R" }));
    expect(gateway(mesh).json(name)).toBeUndefined();
    mesh.apply(gatewayFor(name));
    expect(gateway(mesh).json(name)).toBeDefined();
    expect(gateway(mesh).json(`${name}-cacert`)).toBeDefined();
    expect(gateway(mesh).json("kubernetes://front")).toBeUndefined();
    expect(gateway(mesh, { verified: "shop" }).json(name)).toBeUndefined();
    mesh.apply(pod("gw", { app: "another" }));
    expect(gateway(mesh).json(name)).toBeUndefined();
  });

  it("delegate the key to hardware if the proxy's configuration says so", () => {
    const mesh = new TestMesh(edge("front") + secret("front", { cert: "C", key: "K", "tls.ocsp-staple": "S" }), {
      defaultConfig: { privateKeyProvider: { cryptomb: { pollDelay: "0.01s", fallback: true } } },
    });
    expect(gateway(mesh).json("kubernetes://front")?.["tlsCertificate"]).toEqual({
      certificateChain: { inlineBytes: base64("C") },
      privateKeyProvider: {
        providerName: "cryptomb",
        fallback: true,
        typedConfig: {
          "@type":
            "type.googleapis.com/envoy.extensions.private_key_providers.cryptomb.v3alpha.CryptoMbPrivateKeyMethodConfig",
          pollDelay: "0.010s",
          privateKey: { inlineBytes: base64("K") },
        },
      },
    });
  });

  it("are rebuilt only if they change", () => {
    const mesh = new TestMesh(
      edge("a", "b") + secret("a", { cert: "C", key: "K" }) + secret("b", { cert: "C", key: "K" }),
    );
    const proxy = gateway(mesh);
    const [a, b] = [proxy.resource("kubernetes://a"), proxy.resource("kubernetes://b")];
    expect([a?.name, b?.name]).toEqual(["kubernetes://a", "kubernetes://b"]);
    mesh.apply(secret("b", { cert: "C2", key: "K" }));
    expect(proxy.resource("kubernetes://a")).toBe(a);
    expect(proxy.resource("kubernetes://b")?.version).not.toBe(b?.version);
    mesh.remove(secret("b", {}));
    expect(proxy.resource("kubernetes://b")).toBeUndefined();
  });

  it("are denied with a reason that reveals no content", () => {
    const mesh = new TestMesh(
      edge("odd", "empty", "gone") +
        secret("odd", { "tls.crt": "CHAIN", password: "hunter2", token: "t0p" }) +
        secret("empty", {}),
    );
    const why = (name: string, verified?: string): unknown =>
      gateway(mesh, { verified: verified ?? "edge" }).answer(name);
    expect(why("kubernetes://odd")).toEqual({
      denied: "missing or empty: cert and key, or tls.crt and tls.key; found: password, tls.crt, token",
    });
    expect(why("kubernetes://empty-cacert")).toEqual({
      denied: "missing or empty: cacert or ca.crt; found: nothing",
    });
    expect(why("kubernetes://gone")).toEqual({ denied: "Secret edge/gone not found" });
    expect(why("kubernetes://edge/odd", "shop")).toEqual({ denied: "the proxy is not in its namespace" });
    expect(why("kubernetes://hidden")).toEqual({
      denied: "no Gateway or DestinationRule that selects the proxy refers to it",
    });
    expect(why("kubernetes://odd", "shop")).toEqual({
      denied:
        "no Pod or WorkloadEntry of the proxy's namespace is known with its name or address, and its service account",
    });
    for (const name of [
      "invalid://",
      "builtin://",
      "kubernetes://",
      "kubernetes-gateway://name",
      "configmap://ns/",
      "front",
      "__proto__",
    ]) {
      expect(why(name)).toEqual({ denied: "not a valid secret name" });
    }
  });
});

describe("private keys are served only to workloads that need them", () => {
  const keys = secret("front", { cert: "C", key: "THE KEY", cacert: "R" }) + secret("vault", { cert: "C", key: "K" });
  const front = "kubernetes://front";

  it("to the Pod that a Gateway selects, as of the moment when the Gateway is added, until it is removed", () => {
    const mesh = new TestMesh(keys + pod("gw", { app: "edge" }));
    const proxy = gateway(mesh);
    expect(proxy.resource(front)).toBeUndefined();
    mesh.apply(gatewayFor("front"));
    expect(proxy.resource(front)?.name).toBe(front);
    expect(proxy.resource("kubernetes://front-cacert")?.name).toBe("kubernetes://front-cacert");
    expect(proxy.resource("kubernetes://vault")).toBeUndefined();
    mesh.apply(gatewayFor("vault"));
    expect(proxy.resource(front)).toBeUndefined();
    expect(proxy.resource("kubernetes://vault")?.name).toBe("kubernetes://vault");
    mesh.remove(gatewayFor("vault"));
    expect(proxy.resource("kubernetes://vault")).toBeUndefined();
  });

  it.each<[string, string, Parameters<typeof gateway>[1]]>([
    ["a sidecar", pod("gw", { app: "edge" }), { type: "sidecar" }],
    ["a proxy that only claims labels", pod("gw", { app: "web" }), {}],
    ["a proxy that claims labels as of a virtual machine", pod("gw", {}), { labels: { "istio.io/test-vm": "yes" } }],
    ["a proxy without a Pod", "", {}],
    ["a Pod with another service account", pod("gw", { app: "edge" }, { serviceAccountName: "web" }), {}],
    ["a Pod with another address", pod("gw", { app: "edge" }, { address: "10.1.0.7" }), {}],
    ["a proxy that claims another cluster", pod("gw", { app: "edge" }), { cluster: "elsewhere" }],
    [
      "a proxy that claims the name of a Pod of another namespace",
      pod("gw", { app: "edge" }, { namespace: "shop" }),
      { id: "gw.shop" },
    ],
  ])("not to %s", (_, pods, options) => {
    const mesh = new TestMesh(keys + gatewayFor("front") + pods);
    expect(gateway(mesh, options).resource(front)).toBeUndefined();
    mesh.apply(pod("gw", { app: "edge" }));
    if (options?.type === undefined && options?.cluster === undefined && options?.id === undefined)
      expect(gateway(mesh).resource(front)?.name).toBe(front);
  });

  it("to the WorkloadEntry that a Gateway selects, with its service account and address", () => {
    const entry = (serviceAccount: string): string =>
      istioYaml("WorkloadEntry", "vm", { address: "10.1.0.9", labels: { app: "edge" }, serviceAccount }, "edge");
    const mesh = new TestMesh(keys + gatewayFor("front") + entry("gw"));
    expect(gateway(mesh).resource(front)?.name).toBe(front);
    mesh.apply(entry("web"));
    expect(gateway(mesh).resource(front)).toBeUndefined();
    mesh.apply(entry(""));
    expect(gateway(mesh).resource(front)).toBeUndefined();
  });

  it("for Gateways of other namespaces, from the proxy's own namespace only", () => {
    const other = (...names: string[]): string => gatewayObject("far", "far", { app: "edge" }, names);
    const mesh = new TestMesh(keys + pod("gw", { app: "edge" }) + other("front", "kubernetes://far/stolen"));
    expect(gateway(mesh).resource(front)?.name).toBe(front);
    expect(gateway(mesh).answer("kubernetes://far/stolen")).toEqual({ denied: "the proxy is not in its namespace" });
    mesh.apply(other("kubernetes-gateway://edge/front"));
    expect(gateway(mesh).resource("kubernetes-gateway://edge/front")).toBeUndefined();
  });

  it("for a Gateway without a selector, only to workloads that another Gateway selects", () => {
    const all = gatewayObject("all", "edge", {}, ["front"]);
    const mesh = new TestMesh(keys + pod("gw", { app: "edge" }) + all);
    expect(gateway(mesh).resource(front)).toBeUndefined();
    mesh.apply(gatewayFor("vault"));
    expect(gateway(mesh).resource(front)?.name).toBe(front);
  });

  it("with the roots that a DestinationRule names by caCertCredentialName, and not those that it replaces", () => {
    const tls = { mode: "MUTUAL", credentialName: "front", caCertCredentialName: "vault" };
    const spec = { host: "a.example", trafficPolicy: { tls }, workloadSelector: { matchLabels: { app: "web" } } };
    const rule = istioYaml("DestinationRule", "out", spec, "edge");
    const mesh = new TestMesh(keys + secret("vault", { "ca.crt": "ROOTS" }) + pod("gw", { app: "web" }) + rule);
    const sidecar = gateway(mesh, { type: "sidecar" });
    expect(sidecar.resource(front)?.name).toBe(front);
    expect(sidecar.resource("kubernetes://vault-cacert")?.name).toBe("kubernetes://vault-cacert");
    expect(sidecar.resource("kubernetes://vault")).toBeUndefined();
    expect(sidecar.resource("kubernetes://front-cacert")).toBeUndefined();
  });

  it.each(["vault", "vault-cacert", "kubernetes://vault"])(
    "with the roots that a Gateway names by caCertCredentialName: %s",
    (caCertCredentialName) => {
      const tls = { mode: "MUTUAL", credentialName: "front", caCertCredentialName };
      const servers = [{ port: { number: 443, name: "https", protocol: "HTTPS" }, hosts: ["a.example"], tls }];
      const mutual = istioYaml("Gateway", "mutual", { selector: { app: "edge" }, servers }, "edge");
      const mesh = new TestMesh(keys + secret("vault", { "ca.crt": "ROOTS" }) + pod("gw", { app: "edge" }) + mutual);
      expect(gateway(mesh).resource(front)?.name).toBe(front);
      expect(gateway(mesh).json("kubernetes://vault-cacert")).toMatchObject({
        validationContext: { trustedCa: { inlineBytes: base64("ROOTS") } },
      });
      expect(gateway(mesh).resource("kubernetes://vault")).toBeUndefined();
    },
  );

  it("to sidecars that a DestinationRule of their namespace selects", () => {
    const rule = (spec: object, namespace = "edge"): string =>
      istioYaml("DestinationRule", "out", { host: "outside.example", ...spec }, namespace);
    const tls = { mode: "MUTUAL", credentialName: "front", sni: "outside.example" };
    const selected = { trafficPolicy: { tls }, workloadSelector: { matchLabels: { app: "web" } } };
    const mesh = new TestMesh(keys + pod("gw", { app: "web" }) + rule(selected));
    const sidecar = gateway(mesh, { type: "sidecar" });
    expect(sidecar.resource(front)?.name).toBe(front);
    expect(sidecar.resource("kubernetes://front-cacert")?.name).toBe("kubernetes://front-cacert");
    expect(sidecar.resource("kubernetes://vault")).toBeUndefined();
    const simple = { ...selected, trafficPolicy: { tls: { ...tls, mode: "SIMPLE" } } };
    mesh.apply(rule(simple));
    expect(sidecar.resource(front)).toBeUndefined();
    expect(sidecar.resource("kubernetes://front-cacert")?.name).toBe("kubernetes://front-cacert");
    for (const spec of [
      { ...selected, workloadSelector: { matchLabels: { app: "other" } } },
      { trafficPolicy: { tls } },
      { ...selected, trafficPolicy: { tls: { ...tls, credentialName: "vault" } } },
    ]) {
      mesh.apply(rule(spec));
      expect(sidecar.resource(front)).toBeUndefined();
    }
    mesh.apply(rule({ ...selected, trafficPolicy: { portLevelSettings: [{ port: { number: 443 }, tls }] } }));
    expect(sidecar.resource(front)?.name).toBe(front);
    mesh.apply(pod("gw", { app: "other" }));
    expect(sidecar.resource(front)).toBeUndefined();
    mesh.apply(pod("gw", { app: "web" }));
    mesh.remove(rule({}));
    mesh.apply(rule(selected, "shop"));
    expect(sidecar.resource(front)).toBeUndefined();
  });

  it("to routers by DestinationRules that are exported to them", () => {
    const rule = (exportTo: string[], namespace: string): string =>
      istioYaml(
        "DestinationRule",
        "out",
        {
          host: "outside.example",
          exportTo,
          subsets: [{ name: "v1", trafficPolicy: { tls: { mode: "MUTUAL", credentialName: "front" } } }],
        },
        namespace,
      );
    const mesh = new TestMesh(keys + edge("vault") + rule(["."], "shop"));
    const proxy = gateway(mesh);
    expect(proxy.resource(front)).toBeUndefined();
    mesh.apply(rule(["edge"], "shop"));
    expect(proxy.resource(front)?.name).toBe(front);
    mesh.apply(rule(["*"], "shop"));
    expect(proxy.resource(front)?.name).toBe(front);
    expect(gateway(mesh, { type: "sidecar" }).resource(front)).toBeUndefined();
    mesh.apply(pod("gw", { app: "web" }));
    expect(proxy.resource(front)).toBeUndefined();
  });

  it("with the permission of their service account where it is required; root certificates also without it", () => {
    const tls = { mode: "MUTUAL", credentialName: "front", sni: "outside.example" };
    const spec = { host: "outside.example", trafficPolicy: { tls }, workloadSelector: { matchLabels: { app: "web" } } };
    const rule = istioYaml("DestinationRule", "out", spec, "edge");
    const mesh = new TestMesh(keys + pod("gw", { app: "web" }) + rule);
    const sidecar = gateway(mesh, { type: "sidecar" });
    const key = secretPermissionKey({ cluster: "Kubernetes", namespace: "edge", serviceAccount: "gw" });
    mesh.db.commit((tx) => tx.set(secretPermissionRequired, "", true));
    mesh.db.commit((tx) => tx.set(secretClusters, "Kubernetes", true));
    for (const permission of [undefined, "denied"] as const) {
      if (permission !== undefined) mesh.db.commit((tx) => tx.set(secretPermissions, key, permission));
      expect(sidecar.resource(front)).toBeUndefined();
      expect(sidecar.resource("kubernetes://front-cacert")?.name).toBe("kubernetes://front-cacert");
      expect(sidecar.resource("kubernetes://vault-cacert")).toBeUndefined();
    }
    mesh.db.commit((tx) => tx.set(secretPermissions, key, "allowed"));
    expect(sidecar.resource(front)?.name).toBe(front);
  });

  it("not for proxies of unknown clusters, not even root certificates, where permissions are required", () => {
    const tls = { mode: "MUTUAL", credentialName: "front", sni: "outside.example" };
    const spec = { host: "outside.example", trafficPolicy: { tls }, workloadSelector: { matchLabels: { app: "web" } } };
    const rule = istioYaml("DestinationRule", "out", spec, "edge");
    const mesh = new TestMesh(keys + pod("gw", { app: "web" }) + rule);
    const sidecar = gateway(mesh, { type: "sidecar" });
    const roots = "kubernetes://front-cacert";
    expect(sidecar.resource(roots)?.name).toBe(roots);
    mesh.db.commit((tx) => tx.set(secretPermissionRequired, "", true));
    expect(sidecar.resource(roots)).toBeUndefined();
    mesh.db.commit((tx) => tx.set(secretClusters, "Kubernetes", true));
    expect(sidecar.resource(roots)?.name).toBe(roots);
    mesh.db.commit((tx) => tx.delete(secretClusters, "Kubernetes"));
    expect(sidecar.resource(roots)).toBeUndefined();
  });

  it("not by wildcard, and not as another type", () => {
    const mesh = new TestMesh(keys + edge("front"));
    const proxy = gateway(mesh);
    expect(proxy.resource(front)?.name).toBe(front);
    expect(proxy.resource("*")).toBeUndefined();
    expect(proxy.wildcard()).toEqual([]);
    expect(Buffer.from(proxy.resource(front)?.bytes ?? []).toString("latin1")).toContain(generic.keyPem);
    for (const [type, lookup] of Object.entries(lookups)) {
      const bytes = lookup === secretOf ? [] : (proxy.resourceOf(type, front)?.bytes ?? []);
      expect(`${type}: ${Buffer.from(bytes).toString("latin1")}`).not.toContain(generic.keyPem);
    }
  });
});

/** The gateway's Pod, and a Gateway that selects it and refers to credentials. */
function edge(...credentialNames: readonly string[]): string {
  return pod("gw", { app: "edge" }) + gatewayFor(...credentialNames);
}

function gatewayFor(...credentialNames: readonly string[]): string {
  return gatewayObject("front", "edge", { app: "edge" }, credentialNames);
}

function gatewayObject(
  name: string,
  namespace: string,
  selector: Record<string, string>,
  credentialNames: readonly string[],
): string {
  const servers = credentialNames.map((credentialName, index) => ({
    port: { number: 443, name: `https-${index}`, protocol: "HTTPS" },
    hosts: [`h${index}.example`],
    tls: { mode: "MUTUAL", credentialName },
  }));
  return istioYaml("Gateway", name, { selector, servers }, namespace);
}

interface PodOptions {
  readonly serviceAccountName?: string;
  readonly address?: string;
  readonly namespace?: string;
}

function pod(name: string, labels: Record<string, string>, options: PodOptions = {}): string {
  const { serviceAccountName = "gw", address = "10.1.0.9", namespace = "edge" } = options;
  return document({
    kind: "Pod",
    metadata: { name, namespace, labels },
    spec: { serviceAccountName },
    status: { phase: "Running", podIPs: [{ ip: address }] },
  });
}

function secret(name: string, entries: Record<string, string>): string {
  return document({
    kind: "Secret",
    metadata: { name, namespace: "edge" },
    data: Object.fromEntries(Object.entries(entries).map(([entry, text]) => [entry, base64(text)])),
  });
}

function document(object: object): string {
  return `---\n${JSON.stringify({ apiVersion: "v1", ...object })}\n`;
}

interface Asker {
  wildcard(): readonly string[];
  resourceOf(type: string, name: string): Resource | undefined;
  resource(name: string): Resource | undefined;
  answer(name: string): unknown;
  json(name: string): JsonObject | undefined;
}

interface ProxyOptions {
  readonly verified?: string | undefined;
  readonly labels?: Record<string, string>;
  readonly type?: "router" | "sidecar";
  readonly id?: string;
  readonly cluster?: string;
}

/** A gateway in namespace `edge`, authenticated as of `verified`, which claims the labels of the Gateway's selector. */
function gateway(mesh: TestMesh, options: ProxyOptions = {}): Asker {
  const namespace = "verified" in options ? options.verified : "edge";
  const { type = "router", id = "gw.edge", cluster = "Kubernetes", labels } = options;
  const node = {
    id: `${type}~10.1.0.9~${id}~edge.svc.cluster.local`,
    metadata: { NAMESPACE: "edge", CLUSTER_ID: cluster, LABELS: { app: "edge", ...labels } },
  };
  const view = mesh.db.view({
    ...proxyFromNode(node),
    ...(namespace !== undefined && { verifiedIdentity: { namespace, serviceAccount: "gw" } }),
  });
  const resource = (name: string): Resource | undefined => view.call(secretOf, name);
  return {
    resource,
    wildcard: () => [...view.call(secrets)].map(({ name }) => name),
    resourceOf: (typeUrl, name) => view.call(lookups[typeUrl]!, name),
    answer: (name) => view.call(secretLookup, name),
    json: (name) => {
      const found = resource(name);
      return (
        found &&
        (toJson(SecretSchema, fromBinary(SecretSchema, found.bytes), {
          registry: createRegistry(cryptomb),
        }) as JsonObject)
      );
    },
  };
}
