import { mint } from "@istiod/ca/testing";
import { proxyFromNode } from "@istiod/push-context";
import { describe, expect, it } from "vitest";
import { secretLookup } from "../../src/index.js";
import { TestMesh } from "../mesh.js";

const issued = await mint({});
const base64 = (text: string): string => Buffer.from(text).toString("base64");
const document = (object: object): string => `---\n${JSON.stringify(object)}\n`;

const gatewayApi = "gateway.networking.k8s.io/v1";

function listener(secret: string, namespace?: string, more: object = {}): object {
  return {
    name: `l-${secret}`,
    port: 443,
    protocol: "HTTPS",
    hostname: `${secret}.example`,
    tls: { certificateRefs: [{ name: secret, ...(namespace !== undefined && { namespace }) }] },
    ...more,
  };
}

/** A Gateway in `edge` that existing workloads serve. */
function gateway(listeners: readonly object[], more: object = {}): string {
  return document({
    apiVersion: gatewayApi,
    kind: "Gateway",
    metadata: { name: "front", namespace: "edge" },
    spec: { gatewayClassName: "istio", addresses: [{ type: "Hostname", value: "gate" }], listeners, ...more },
  });
}

function secret(name: string, namespace: string): string {
  return document({
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name, namespace },
    data: { "tls.crt": base64(issued.pem), "tls.key": base64(issued.keyPem), "ca.crt": base64(issued.pem) },
  });
}

function grant(kind: "Gateway" | "ListenerSet", from: string, name?: string): string {
  return document({
    apiVersion: "gateway.networking.k8s.io/v1beta1",
    kind: "ReferenceGrant",
    metadata: { name: "grant", namespace: "vault" },
    spec: {
      from: [{ group: "gateway.networking.k8s.io", kind, namespace: from }],
      to: [{ group: "", kind: "Secret", ...(name !== undefined && { name }) }],
    },
  });
}

const workloads =
  document({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "gw", namespace: "edge", labels: { app: "edge" } },
    spec: { serviceAccountName: "gw" },
    status: { phase: "Running", podIPs: [{ ip: "10.1.0.9" }] },
  }) +
  document({
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: "gate", namespace: "edge" },
    spec: { selector: { app: "edge" }, clusterIP: "10.2.0.1", ports: [{ name: "https", port: 443 }] },
  });

/** Returns the answer to the gateway of `edge`, authenticated in a namespace. */
function ask(mesh: TestMesh, name: string, verified = "edge"): unknown {
  const node = {
    id: "router~10.1.0.9~gw.edge~edge.svc.cluster.local",
    metadata: { NAMESPACE: "edge", CLUSTER_ID: "Kubernetes", LABELS: { app: "edge" } },
  };
  const proxy = { ...proxyFromNode(node), verifiedIdentity: { namespace: verified, serviceAccount: "gw" } };
  return mesh.db.view(proxy).call(secretLookup, `kubernetes-gateway://${name}`);
}

const granted = { resource: expect.anything() as unknown };
const elsewhere = { denied: "the proxy is not in its namespace" };

describe("Secrets of Gateways of the Gateway API", () => {
  it("are served from the namespace of the Gateway", () => {
    const mesh = new TestMesh(workloads + secret("own", "edge") + gateway([listener("own")]));
    expect(ask(mesh, "edge/own")).toEqual(granted);
    expect(ask(mesh, "edge/own", "vault")).not.toEqual(granted);
  });

  it("are served from another namespace only if a ReferenceGrant there permits the reference", () => {
    const mesh = new TestMesh(workloads + secret("front", "vault") + gateway([listener("front", "vault")]));
    expect(ask(mesh, "vault/front")).toEqual(elsewhere);
    mesh.apply(grant("Gateway", "edge"));
    expect(ask(mesh, "vault/front")).toEqual(granted);
    mesh.apply(grant("Gateway", "edge", "front"));
    expect(ask(mesh, "vault/front")).toEqual(granted);
    for (const other of [grant("Gateway", "edge", "back"), grant("Gateway", "shop"), grant("ListenerSet", "edge")]) {
      mesh.apply(other);
      expect(ask(mesh, "vault/front")).toEqual(elsewhere);
    }
    mesh.apply(grant("Gateway", "edge")).remove(grant("Gateway", "edge"));
    expect(ask(mesh, "vault/front")).toEqual(elsewhere);
  });

  it("that a grant permits and no listener names are not served", () => {
    const mesh = new TestMesh(
      workloads + secret("front", "vault") + secret("other", "vault") + gateway([listener("front", "vault")]),
    ).apply(grant("Gateway", "edge"));
    expect(ask(mesh, "vault/front")).toEqual(granted);
    expect(ask(mesh, "vault/other")).toEqual(elsewhere);
  });

  it("of ListenerSets are served from the namespace of the ListenerSet to the workloads of the Gateway", () => {
    const set = document({
      apiVersion: gatewayApi,
      kind: "ListenerSet",
      metadata: { name: "more", namespace: "vault" },
      spec: { parentRef: { name: "front", namespace: "edge" }, listeners: [listener("front")] },
    });
    const mesh = new TestMesh(workloads + secret("front", "vault") + set + gateway([listener("x")]));
    expect(ask(mesh, "vault/front")).toEqual(elsewhere);
    mesh.apply(gateway([listener("x")], { allowedListeners: { namespaces: { from: "All" } } }));
    expect(ask(mesh, "vault/front")).toEqual(granted);
    expect(ask(mesh, "vault/front", "vault")).not.toEqual(granted);
  });

  it("with roots that the Gateway of a ListenerSet declares are served from the namespace of the Gateway", () => {
    const caCertificateRefs = [{ group: "", kind: "Secret", name: "roots" }];
    const set = document({
      apiVersion: gatewayApi,
      kind: "ListenerSet",
      metadata: { name: "more", namespace: "vault" },
      spec: { parentRef: { name: "front", namespace: "edge" }, listeners: [listener("front")] },
    });
    const more = {
      allowedListeners: { namespaces: { from: "All" } },
      tls: { frontend: { default: { validation: { caCertificateRefs } } } },
    };
    const mesh = new TestMesh(workloads + secret("front", "vault") + secret("roots", "edge") + set);
    expect(ask(mesh, "edge/roots-cacert")).not.toEqual(granted);
    mesh.apply(gateway([listener("x")], more));
    expect(ask(mesh, "edge/roots-cacert")).toEqual(granted);
    expect(ask(mesh, "edge/roots")).not.toEqual(granted);
  });

  it("with roots of clients are served only with a grant for the Secret itself", () => {
    const tls = {
      frontend: {
        default: {
          validation: { caCertificateRefs: [{ group: "", kind: "Secret", name: "roots", namespace: "vault" }] },
        },
      },
    };
    const mesh = new TestMesh(
      workloads + secret("own", "edge") + secret("roots", "vault") + gateway([listener("own")], { tls }),
    ).apply(grant("Gateway", "edge", "roots"));
    expect(ask(mesh, "vault/roots-cacert")).toEqual(granted);
    expect(ask(mesh, "vault/roots")).toEqual(elsewhere);
    // A Secret with the suffix would be read in its place.
    mesh.apply(secret("roots-cacert", "vault"));
    expect(ask(mesh, "vault/roots-cacert")).toEqual(elsewhere);
  });
});
