import { create, toBinary } from "@bufbuild/protobuf";
import { ClusterLoadAssignmentSchema } from "@istiod/envoy-api/envoy/config/endpoint/v3/endpoint";
import { RouteConfigurationSchema } from "@istiod/envoy-api/envoy/config/route/v3/route";
import {
  DeltaDiscoveryResponseSchema,
  DiscoveryResponseSchema,
} from "@istiod/envoy-api/envoy/service/discovery/v3/discovery";
import { SecretSchema } from "@istiod/envoy-api/envoy/extensions/transport_sockets/tls/v3/secret";
import { clusterType, endpointType, routeType, secretType } from "@istiod/xds-server";
import { expect, it } from "vitest";
import { LossMonitor } from "../src/fleet/loss-monitor.js";

const endpoints = (...addresses: string[]): Uint8Array =>
  toBinary(
    ClusterLoadAssignmentSchema,
    create(ClusterLoadAssignmentSchema, {
      clusterName: "cart",
      endpoints: [
        {
          lbEndpoints: addresses.map((address) => ({
            hostIdentifier: {
              case: "endpoint" as const,
              value: { address: { address: { case: "socketAddress" as const, value: { address } } } },
            },
          })),
        },
      ],
    }),
  );

const routes = (...names: string[]): Uint8Array =>
  toBinary(
    RouteConfigurationSchema,
    create(RouteConfigurationSchema, {
      name: "80",
      virtualHosts: [
        {
          name: "cart",
          routes: names.map((name) => ({
            name,
            action: {
              case: "route" as const,
              value: { clusterSpecifier: { case: "cluster" as const, value: "cart" } },
            },
          })),
        },
      ],
    }),
  );

const delta = (typeUrl: string, resources: Record<string, Uint8Array>, removedResources: string[] = []): Uint8Array =>
  toBinary(
    DeltaDiscoveryResponseSchema,
    create(DeltaDiscoveryResponseSchema, {
      typeUrl,
      resources: Object.entries(resources).map(([name, value]) => ({ name, resource: { typeUrl, value } })),
      removedResources,
    }),
  );

it("an endpoint that a response no longer has is a loss, and an empty assignment loses all", () => {
  const monitor = new LossMonitor();
  monitor.receive("web", "delta", delta(endpointType, { cart: endpoints("10.0.0.1", "10.0.0.2") }));
  monitor.receive("web", "delta", delta(endpointType, { cart: endpoints("10.0.0.1", "10.0.0.2", "10.0.0.3") }));
  expect(monitor.take()).toEqual([]);
  monitor.receive("web", "delta", delta(endpointType, { cart: endpoints() }));
  expect(monitor.take().map(({ part }) => /10\.0\.0\.\d/.exec(part ?? "")?.[0])).toEqual([
    "10.0.0.1",
    "10.0.0.2",
    "10.0.0.3",
  ]);
});

it("a removed resource is a loss, unless it is expected", () => {
  const monitor = new LossMonitor();
  monitor.receive("web", "delta", delta(clusterType, { cart: new Uint8Array(), orders: new Uint8Array() }));
  monitor.expect(({ resource }) => resource === "orders");
  monitor.receive("web", "delta", delta(clusterType, {}, ["cart", "orders"]));
  expect(monitor.take()).toEqual([{ proxy: "web", typeUrl: clusterType, resource: "cart" }]);
  expect(monitor.take()).toEqual([]);
});

it("a certificate that is removed, or is one no longer, is a loss", () => {
  const monitor = new LossMonitor();
  const certificate = create(SecretSchema, { name: "front", type: { case: "tlsCertificate", value: {} } });
  const secret = (message: typeof certificate): Uint8Array => toBinary(SecretSchema, message);
  monitor.receive("gateway", "delta", delta(secretType, { front: secret(certificate) }));
  monitor.receive("gateway", "delta", delta(secretType, { front: secret(create(SecretSchema, { name: "front" })) }));
  monitor.receive("gateway", "delta", delta(secretType, {}, ["front"]));
  expect(monitor.take()).toEqual([
    { proxy: "gateway", typeUrl: secretType, resource: "front", part: "certificate" },
    { proxy: "gateway", typeUrl: secretType, resource: "front" },
  ]);
});

it("a route that a route configuration no longer has is a loss", () => {
  const monitor = new LossMonitor();
  monitor.receive("web", "delta", delta(routeType, { 80: routes("canary", "split") }));
  monitor.receive("web", "delta", delta(routeType, { 80: routes("split") }));
  expect(monitor.take().map(({ part }) => part)).toEqual(["route cart canary to cart"]);
});

it("in state of the world, a cluster that is not in a response is a loss; an endpoint's is not", () => {
  const monitor = new LossMonitor();
  const sotw = (typeUrl: string, ...resources: Uint8Array[]): Uint8Array =>
    toBinary(
      DiscoveryResponseSchema,
      create(DiscoveryResponseSchema, { typeUrl, resources: resources.map((value) => ({ typeUrl, value })) }),
    );
  const cluster = (name: string): Uint8Array => Buffer.from([10, name.length, ...Buffer.from(name)]);
  monitor.receive("web", "sotw", sotw(clusterType, cluster("cart"), cluster("orders")));
  monitor.receive("web", "sotw", sotw(endpointType, endpoints("10.0.0.1")));
  monitor.receive("web", "sotw", sotw(endpointType));
  expect(monitor.take()).toEqual([]);
  monitor.receive("web", "sotw", sotw(clusterType, cluster("orders")));
  expect(monitor.take().map(({ resource }) => resource)).toEqual(["cart"]);
});
