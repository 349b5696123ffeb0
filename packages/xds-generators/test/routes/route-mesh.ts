import { fromBinary, type JsonObject, type JsonValue, toJson } from "@bufbuild/protobuf";
import { RouteConfigurationSchema } from "@istiod/envoy-api/envoy/config/route/v3/route";
import { registry } from "@istiod/envoy-api/registry";
import type { View } from "@istiod/incremental";
import type { Proxy } from "@istiod/push-context";
import type { Resource } from "@istiod/resources";
import { routeConfigurationByName } from "../../src/routes/index.js";
import { istioYaml, serviceYaml } from "../mesh-yaml.js";
import { TestMesh } from "../mesh.js";

export interface MeshOptions {
  readonly settings?: JsonObject;
  readonly variables?: Readonly<Record<string, string>>;
}

/** A mesh whose route configurations are compared as JSON. */
export class RouteMesh extends TestMesh {
  constructor(yaml = "", { settings = {}, variables = {} }: MeshOptions = {}) {
    super("", settings);
    for (const [name, value] of Object.entries(variables)) {
      this.set(name, value);
    }
    this.apply(yaml);
  }

  sidecar(namespace = "shop", metadata: JsonObject = {}): RouteClient {
    return new RouteClient(this.proxy({ namespace, metadata }).view);
  }

  /** A gateway that Gateways select by `istio: gateway`. */
  router(namespace = "edge"): RouteClient {
    return new RouteClient(this.proxy({ type: "router", namespace, labels: { istio: "gateway" } }).view);
  }
}

export interface JsonVirtualHost {
  readonly name: string;
  readonly domains: readonly string[];
  readonly routes?: readonly JsonObject[];
  readonly [field: string]: unknown;
}

/** A proxy that requests its routes. */
export class RouteClient {
  constructor(readonly view: View<Proxy>) {}

  resource(name: string): Resource {
    return this.view.call(routeConfigurationByName, name);
  }

  configuration(name: string): {
    readonly virtualHosts?: readonly JsonVirtualHost[];
    readonly [field: string]: unknown;
  } {
    return toJson(RouteConfigurationSchema, fromBinary(RouteConfigurationSchema, this.resource(name).bytes), {
      registry,
    }) as never;
  }

  /** Virtual hosts by name. */
  hosts(name: string): Readonly<Record<string, JsonVirtualHost>> {
    return Object.fromEntries((this.configuration(name).virtualHosts ?? []).map((host) => [host.name, host]));
  }

  /** The routes of the service `cart.shop` at port 80, which the tests configure. */
  cartRoutes(): readonly JsonObject[] {
    return this.hosts("80")["cart.shop.svc.cluster.local:80"]?.routes ?? [];
  }

  /** The only route of `cart.shop`. */
  cartRoute(): JsonObject {
    return only(this.cartRoutes());
  }
}

/** The routes of a VirtualService for `cart.shop`, for a sidecar in its namespace. */
export function routesFor(http: JsonValue, options: MeshOptions = {}): readonly JsonObject[] {
  return new RouteMesh(cart + cartVirtualService(http), options).sidecar().cartRoutes();
}

/** The only route of a VirtualService for `cart.shop`. */
export function routeFor(http: JsonObject, options: MeshOptions = {}): JsonObject {
  return only(routesFor([http], options));
}

export const cart = serviceYaml("cart", { ip: "10.96.0.1" });

export function cartVirtualService(http: JsonValue, spec: JsonObject = {}): string {
  return istioYaml("VirtualService", "cart", { hosts: ["cart"], http, ...spec });
}

/** A route's destination `cart.shop`. */
export const toCart = { route: [{ destination: { host: "cart" } }] };

function only<T>(routes: readonly T[]): T {
  if (routes.length !== 1) {
    throw new Error(`${routes.length} routes`);
  }
  return routes[0]!;
}
