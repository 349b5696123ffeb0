import { createRegistry, fromBinary, type JsonObject, toJson } from "@bufbuild/protobuf";
import { file_contrib_envoy_extensions_private_key_providers_cryptomb_v3alpha_cryptomb as cryptomb } from "@istiod/envoy-api/contrib/envoy/extensions/private_key_providers/cryptomb/v3alpha/cryptomb";
import { SecretSchema } from "@istiod/envoy-api/envoy/extensions/transport_sockets/tls/v3/secret";
import { proxyFromNode } from "@istiod/push-context";
import type { Resource } from "@istiod/resources";
import { describe, expect, it } from "vitest";
import { lookups, secretLookup } from "../../src/index.js";
import { istioYaml } from "../mesh-yaml.js";
import { TestMesh } from "../mesh.js";

const secretOf = lookups["type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret"]!;
const base64 = (text: string): string => Buffer.from(text).toString("base64");

describe("secrets of gateways", () => {
  it("include a certificate for an authenticated proxy", () => {
    const mesh = new TestMesh(secret("front", { "tls.crt": "CHAIN", "tls.key": "KEY", "tls.ocsp-staple": "STAPLE" }));
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
    const mesh = new TestMesh(secret("both", both) + secret("half", { ...both, cert: "" }));
    expect(gateway(mesh).json("kubernetes://both")).toMatchObject({
      tlsCertificate: { certificateChain: { inlineBytes: base64("C") } },
    });
    expect(gateway(mesh).json("kubernetes://half")).toMatchObject({
      tlsCertificate: { certificateChain: { inlineBytes: base64("CHAIN") } },
    });
  });

  it("include roots from a separate Secret, or from the key's", () => {
    const mesh = new TestMesh(secret("mutual", { cert: "C", key: "K", cacert: "ROOTS", crl: "REVOKED" }));
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

  it("include roots from a ConfigMap in any namespace for authenticated clients", () => {
    const mesh = new TestMesh(
      document({ kind: "ConfigMap", metadata: { name: "roots", namespace: "other" }, data: { "ca.crt": "ROOTS" } }),
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
    const mesh = new TestMesh(secret("front", { cert: "C", key: "K", cacert: "R" }));
    for (const name of ["kubernetes://front", "kubernetes://edge/front", "kubernetes://edge/front-cacert"]) {
      expect(gateway(mesh, { verified: undefined }).json(name)).toBeUndefined();
      expect(gateway(mesh, { verified: "shop" }).json(name)).toBeUndefined();
    }
    expect(gateway(mesh).json("kubernetes://front")).toBeDefined();
  });

  it("of the Gateway API are served only if a Gateway of the proxy references them", () => {
    const gateways = (credentialName: string): string =>
      istioYaml(
        "Gateway",
        "front",
        {
          selector: { app: "edge" },
          servers: [
            {
              port: { number: 443, name: "https", protocol: "HTTPS" },
              hosts: ["*"],
              tls: { mode: "MUTUAL", credentialName },
            },
          ],
        },
        "edge",
      );
    const name = "kubernetes-gateway://edge/front";
    const mesh = new TestMesh(secret("front", { cert: "C", key: "K", cacert: "R" }) + gateways("other"));
    expect(gateway(mesh).json(name)).toBeUndefined();
    mesh.apply(gateways(name));
    expect(gateway(mesh).json(name)).toBeDefined();
    expect(gateway(mesh).json(`${name}-cacert`)).toBeDefined();
    expect(gateway(mesh, { verified: "shop" }).json(name)).toBeUndefined();
    expect(gateway(mesh, { labels: { app: "another" } }).json(name)).toBeUndefined();
  });

  it("delegate the key to hardware if the proxy's configuration says so", () => {
    const mesh = new TestMesh(secret("front", { cert: "C", key: "K", "tls.ocsp-staple": "S" }), {
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
    const mesh = new TestMesh(secret("a", { cert: "C", key: "K" }) + secret("b", { cert: "C", key: "K" }));
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
      secret("odd", { "tls.crt": "CHAIN", password: "hunter2", token: "t0p" }) + secret("empty", {}),
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
    expect(why("kubernetes://odd", "shop")).toEqual({ denied: "Secret shop/odd not found" });
    expect(why("kubernetes://edge/odd", "shop")).toEqual({ denied: "the proxy is not in namespace edge" });
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
  resource(name: string): Resource | undefined;
  answer(name: string): unknown;
  json(name: string): JsonObject | undefined;
}

/** A gateway in namespace `edge`, authenticated as of `verified`. */
function gateway(
  mesh: TestMesh,
  options: { verified?: string | undefined; labels?: Record<string, string> } = {},
): Asker {
  const namespace = "verified" in options ? options.verified : "edge";
  const node = {
    id: "router~10.1.0.9~gw.edge~edge.svc.cluster.local",
    metadata: { NAMESPACE: "edge", CLUSTER_ID: "Kubernetes", LABELS: { app: "edge", ...options.labels } },
  };
  const view = mesh.db.view({
    ...proxyFromNode(node),
    ...(namespace !== undefined && { verifiedIdentity: { namespace, serviceAccount: "gw" } }),
  });
  const resource = (name: string): Resource | undefined => view.call(secretOf, name);
  return {
    resource,
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
