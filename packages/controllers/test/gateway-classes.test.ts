import { gatewayClassController } from "@istiod/controllers";
import { expect, it } from "vitest";
import { eventually, testCluster } from "./support/cluster.js";
import { defaultSettings } from "./support/managed-gateways.js";

const type = {
  group: "gateway.networking.k8s.io",
  version: "v1",
  kind: "GatewayClass",
  plural: "gatewayclasses",
  namespaced: false,
};
const apiVersion = "gateway.networking.k8s.io/v1";

it("creates the classes that are served, leaves existing ones alone, and creates deleted ones again", async () => {
  const { server, run, writes } = await testCluster({ types: [type] });
  const own = {
    apiVersion,
    kind: "GatewayClass",
    metadata: { name: "istio" },
    spec: { controllerName: "example.com/x" },
  };
  await server.objects.create(own);
  run(gatewayClassController({ ...defaultSettings, hasWaypoints: true }));
  const classes = () =>
    Object.fromEntries(
      server.objects
        .list({ apiVersion, kind: "GatewayClass" })
        .map(({ metadata, ...object }) => [metadata.name, (object["spec"] as typeof own.spec).controllerName]),
    );
  const expected = {
    istio: "example.com/x",
    "istio-remote": "istio.io/unmanaged-gateway",
    "istio-waypoint": "istio.io/mesh-controller",
  };
  await eventually(() => expect(classes()).toEqual(expected));
  expect(writes()).toHaveLength(2);
  await server.objects.delete({ apiVersion, kind: "GatewayClass", name: "istio-remote" });
  await eventually(() => expect(classes()).toEqual(expected));
});

it("writes nothing where the Gateway API is not installed", async () => {
  const { client, run, log, writes } = await testCluster();
  run(gatewayClassController(defaultSettings));
  await client.json({ path: "/version" });
  await eventually(() => expect(log.lines).toContain("info starting gateway class controller"));
  expect(writes()).toEqual([]);
});
