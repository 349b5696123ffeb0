import { mint } from "@istiod/ca/testing";
import { proxyFromNode } from "@istiod/push-context";
import { describe, expect, it } from "vitest";
import { secretLookup } from "../../src/index.js";
import { serviceYaml } from "../mesh-yaml.js";
import { TestMesh } from "../mesh.js";

const issued = await mint({});
const base64 = (text: string): string => Buffer.from(text).toString("base64");
const document = (object: object): string => `---\n${JSON.stringify(object)}\n`;
const group = "gateway.networking.k8s.io";

const secret = (name: string, namespace: string): string =>
  document({
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name, namespace },
    data: { "tls.crt": base64(issued.pem), "tls.key": base64(issued.keyPem) },
  });

const workloads =
  document({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "gw", namespace: "edge", labels: { app: "edge" } },
    spec: { serviceAccountName: "gw" },
    status: { phase: "Running", podIPs: [{ ip: "10.1.0.9" }] },
  }) +
  serviceYaml("gate", { namespace: "edge", ports: ["http:80"], spec: { selector: { app: "edge" } } }) +
  serviceYaml("cart", { ports: ["http:80"] }) +
  serviceYaml("web", { ports: ["http:80"] });

const policy = document({
  apiVersion: `${group}/v1`,
  kind: "BackendTLSPolicy",
  metadata: { name: "cart", namespace: "shop" },
  spec: {
    targetRefs: [{ group: "", kind: "Service", name: "cart" }],
    validation: { hostname: "cart.example", wellKnownCACertificates: "System" },
  },
});

/** A Gateway that presents a certificate to backends. */
function gateway(clientCertificateRef?: object): string {
  return document({
    apiVersion: `${group}/v1`,
    kind: "Gateway",
    metadata: { name: "front", namespace: "edge" },
    spec: {
      gatewayClassName: "istio",
      addresses: [{ type: "Hostname", value: "gate" }],
      listeners: [{ name: "http", port: 80, protocol: "HTTP" }],
      ...(clientCertificateRef && { tls: { backend: { clientCertificateRef } } }),
    },
  });
}

const proxy = { type: "router", namespace: "edge", name: "gw", ip: "10.1.0.9", labels: { app: "edge" } } as const;

function presented(mesh: TestMesh, service: string, by: object = proxy): unknown {
  const { transportSocket } = mesh.proxy(by).cluster(`outbound|80||${service}.shop.svc.cluster.local`);
  const configs = transportSocket?.typedConfig.commonTlsContext.tlsCertificateSdsSecretConfigs as
    | readonly { readonly name: string }[]
    | undefined;
  return (configs ?? []).map(({ name }) => name);
}

function ask(mesh: TestMesh, name: string, namespace = "edge"): unknown {
  const node = {
    id: "router~10.1.0.9~gw.edge~edge.svc.cluster.local",
    metadata: { NAMESPACE: "edge", CLUSTER_ID: "Kubernetes", LABELS: { app: "edge" } },
  };
  const client = { ...proxyFromNode(node), verifiedIdentity: { namespace, serviceAccount: "gw" } };
  return mesh.db.view(client).call(secretLookup, name);
}

const served = { resource: expect.anything() as unknown };

describe("The client certificate of a Gateway", () => {
  it("is presented to backends of BackendTLSPolicies, and to no others", () => {
    const mesh = new TestMesh(workloads + policy + secret("client", "edge") + gateway({ name: "client" }));
    expect(presented(mesh, "cart")).toEqual(["kubernetes-gateway://edge/client"]);
    expect(presented(mesh, "web")).toEqual([]);
    mesh.apply(gateway());
    expect(presented(mesh, "cart")).toEqual([]);
  });

  it("is not presented by sidecars", () => {
    const mesh = new TestMesh(workloads + policy + secret("client", "edge") + gateway({ name: "client" }));
    expect(presented(mesh, "cart", {})).toEqual([]);
  });

  it("is served to the workloads of the Gateway alone", () => {
    const mesh = new TestMesh(workloads + policy + secret("client", "edge") + gateway({ name: "client" }));
    expect(ask(mesh, "kubernetes-gateway://edge/client")).toEqual(served);
    expect(ask(mesh, "kubernetes-gateway://edge/client", "shop")).not.toEqual(served);
    mesh.apply(gateway());
    expect(ask(mesh, "kubernetes-gateway://edge/client")).not.toEqual(served);
  });

  it("may be of another namespace only if a ReferenceGrant there permits it", () => {
    const ref = { name: "client", namespace: "vault" };
    const mesh = new TestMesh(workloads + policy + secret("client", "vault") + gateway(ref));
    expect(presented(mesh, "cart")).toEqual([]);
    expect(ask(mesh, "kubernetes-gateway://vault/client")).not.toEqual(served);
    mesh.apply(
      document({
        apiVersion: `${group}/v1beta1`,
        kind: "ReferenceGrant",
        metadata: { name: "grant", namespace: "vault" },
        spec: { from: [{ group, kind: "Gateway", namespace: "edge" }], to: [{ group: "", kind: "Secret" }] },
      }),
    );
    expect(presented(mesh, "cart")).toEqual(["kubernetes-gateway://vault/client"]);
    expect(ask(mesh, "kubernetes-gateway://vault/client")).toEqual(served);
  });

  it("that does not exist is not presented", () => {
    expect(presented(new TestMesh(workloads + policy + gateway({ name: "client" })), "cart")).toEqual([]);
  });
});
