import { LiveAnalysis } from "@istiod/analysis";
import { allKinds, applyChanges, defaultMeshConfig, meshConfig, meshConfigKey, readText } from "@istiod/config-schema";
import { Database } from "@istiod/incremental";
import { expect, onTestFinished, test } from "vitest";

const gateway = (name: string, spec: string): string =>
  `{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {name: ${name}, namespace: shop}, spec: ${spec}}\n---\n`;
const mesh = `${gateway("own", "{gatewayClassName: istio, listeners: []}")}${gateway("manual", "{gatewayClassName: istio, addresses: [{type: Hostname, value: a.example}], listeners: []}")}${gateway("other", "{gatewayClassName: other, listeners: []}")}
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: route, namespace: shop}, spec: {parentRefs: [{name: other}, {name: own}, {group: "", kind: Service, name: own}]}}
`;

test("the proxies of a Gateway of istiod's class are deployed by istiod, unless it names others; routes need them, too", () => {
  const database = new Database<undefined>();
  database.commit((tx) => {
    tx.set(meshConfig, meshConfigKey, defaultMeshConfig());
    applyChanges(
      tx,
      readText(mesh, "a.yaml").flatMap(({ objects }) => objects),
    );
  });
  const analysis = new LiveAnalysis({ database, client: undefined, kinds: allKinds, sources: [], problems: () => [] });
  onTestFinished(() => analysis.stop());
  const of = (kind: string, name: string) => analysis.deployedGateways({ kind, namespace: "shop", name });
  expect(of("Gateway", "own")).toEqual(["shop/own"]);
  expect(of("HTTPRoute", "route")).toEqual(["shop/own"]);
  expect([of("Gateway", "manual"), of("Gateway", "other"), of("Gateway", "none"), of("Service", "own")]).toEqual([
    [],
    [],
    [],
    [],
  ]);
});
