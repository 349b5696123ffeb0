import { describe, expect, it } from "vitest";
import { fromJson } from "@bufbuild/protobuf";
import { analyzeTexts, findingsOf } from "@istiod/analysis";
import { meshNetworks, meshNetworksKey, readText, type SecretObject, secrets } from "@istiod/config-schema";
import { Database } from "@istiod/incremental";
import { MeshNetworksSchema } from "@istiod/istio-api/mesh/v1alpha1/network";
import { messagesOf } from "./messages-of.js";

describe("registries of mesh networks", () => {
  const registries = "meshnetworks.MeshNetworksAnalyzer";
  const networks = (registry: string): { readonly meshNetworks: { readonly file: string; readonly text: string } } => ({
    meshNetworks: {
      file: "networks.yaml",
      text: `networks:\n  north:\n    endpoints:\n    - fromCidr: 10.0.0.0/8\n    - fromRegistry: ${registry}\n    gateways: [{address: 1.2.3.4, port: 15443}]\n`,
    },
  });
  const secret = (label: string): string =>
    `apiVersion: v1\nkind: Secret\nmetadata: {name: a, namespace: istio-system, labels: {istio/multiCluster: ${label}}}\nstringData: {cluster-2: kubeconfig}\n`;

  it("must be known clusters", () => {
    expect(messagesOf(registries, "", networks("kubernetes"))).toEqual([
      'IST0126 MeshNetworks istio-system/meshnetworks networks.yaml:5: network north names an unknown service registry "kubernetes": no cluster with that ID is known, so that none of its endpoints are in the network; did you mean "Kubernetes"?',
    ]);
    expect(messagesOf(registries, "", networks("Kubernetes"))).toEqual([]);
    expect(messagesOf(registries, "", { ...networks("cluster-1"), environment: { CLUSTER_ID: "cluster-1" } })).toEqual(
      [],
    );
    expect(messagesOf(registries, secret('"true"'), networks("cluster-2"))).toEqual([]);
    expect(messagesOf(registries, secret('"false"'), networks("cluster-2"))).toHaveLength(1);
  });

  it("are not those of Secrets in a directory, which a running istiod does not read", () => {
    const messages = (isOfDirectory: boolean): readonly string[] => {
      const database = new Database<undefined>();
      const [read] = readText(secret('"true"'), "a.yaml").flatMap(({ objects }) => objects);
      const object = read?.object as SecretObject;
      database.commit((tx) => {
        tx.set(secrets, "Kubernetes/istio-system/a", {
          ...object,
          spec: { ...object.spec, ...(isOfDirectory && { isOfDirectory }) },
        });
        tx.set(
          meshNetworks,
          meshNetworksKey,
          fromJson(MeshNetworksSchema, {
            networks: { north: { endpoints: [{ fromRegistry: "cluster-2" }] } },
          }),
        );
      });
      const found = database.view(undefined).call(findingsOf([registries]));
      return found.map(({ code }) => code);
    };
    expect([messages(false), messages(true)]).toEqual([[], ["IST0126"]]);
  });
});

describe("a service of several clusters", () => {
  const service = (spec: string): string =>
    `apiVersion: v1\nkind: Service\nmetadata: {name: cart, namespace: shop}\nspec:\n  ${spec}\n`;
  const found = (...specs: readonly string[]): readonly string[] => {
    const files = specs.map((spec, i) => ({
      file: `c${i}.yaml`,
      text: service(spec),
      ...(i > 0 && { cluster: `c${i}` }),
    }));
    const { messages } = analyzeTexts({
      files,
      environment: { CLUSTER_ID: "c0" },
      analyzers: ["services.MultiClusterServiceAnalyzer"],
    });
    return messages.map(({ code, origin, reference, message }) => `${code} ${origin} ${reference}: ${message}`);
  };

  it("must be the same in each", () => {
    const ports = "ports: [{name: http, port: 80}]";
    expect(found(ports, ports)).toEqual([]);
    expect(found(ports, "ports: [{name: http, port: 80, nodePort: 30080}]")).toEqual([]);
    const [first, second, ...others] = found(
      `${ports}`,
      `{${ports}, type: LoadBalancer}`.slice(1, -1).replace(", type", "\n  type"),
    );
    const text =
      "service shop/cart is inconsistent between clusters: type ClusterIP in c0 and LoadBalancer in c1; make them the same, because clients of every cluster use one configuration for it";
    expect([first, second, others]).toEqual([
      `IST0170 Service shop/cart c0.yaml:4: ${text}`,
      `IST0170 Service shop/cart c1.yaml:4: ${text}`,
      [],
    ]);
  });

  it.each([
    ["clusterIP: None", "cluster IP with an address in c0, c2 and headless in c1"],
    ["ports: [{name: web, port: 80, protocol: UDP}]", "ports none in c0, c2 and web:80/UDP in c1"],
    [
      "ports: [{name: web, port: 80, targetPort: 8080, appProtocol: http}]",
      "ports none in c0, c2 and web:80->8080/TCP(http) in c1",
    ],
  ])("is told apart by %s", (spec, fault) => {
    const findings = found("type: ClusterIP", spec, "type: ClusterIP");
    expect(findings.map((finding) => finding.slice(0, finding.indexOf(": ")))).toEqual(
      ["c0.yaml:4", "c1.yaml:4", "c2.yaml:4"].map((at) => `IST0170 Service shop/cart ${at}`),
    );
    expect(findings[0]).toContain(`between clusters: ${fault};`);
  });
});
