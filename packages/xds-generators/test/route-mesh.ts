import { fromBinary, type JsonObject, type JsonValue, toJson } from "@bufbuild/protobuf";
import { RouteConfigurationSchema } from "@istiod/envoy-api/envoy/config/route/v3/route";
import { registry } from "@istiod/envoy-api/registry";
import { createRegistry } from "@bufbuild/protobuf";
import { applyMeshConfig, environment, meshConfig, meshConfigKey } from "@istiod/config-ingestion";
import { commitYaml } from "@istiod/config-ingestion/testing";
import { Database, type View } from "@istiod/incremental";
import { type Proxy, proxyFromNode } from "@istiod/push-context";
import type { Resource } from "@istiod/resources";
import { routeOf } from "../src/routes/index.js";
import { istioYaml, serviceYaml } from "./mesh-yaml.js";

const types = createRegistry(...registry);

/** A mesh whose route configurations are looked at as JSON. */
export class RouteMesh {
  readonly database = new Database<Proxy>();

  constructor(yaml = "", { settings = {}, variables = {} }: { readonly settings?: JsonObject; readonly variables?: Readonly<Record<string, string>> } = {}) {
    this.database.commit((tx) => {
      tx.set(meshConfig, meshConfigKey, applyMeshConfig(settings, { warning: () => undefined, error: (path, message) => fail(`${path.join(".")}: ${message}`) })!);
      for (const [name, value] of Object.entries(variables)) {
        tx.set(environment, name, value);
      }
    });
    this.apply(yaml);
  }

  apply(yaml: string): void {
    commitYaml(this.database, yaml);
  }

  sidecar(namespace = "shop", metadata: JsonObject = {}): RouteClient {
    return this.client("sidecar", namespace, metadata);
  }

  router(namespace = "edge", metadata: JsonObject = { LABELS: { istio: "gateway" } }): RouteClient {
    return this.client("router", namespace, metadata);
  }

  private client(type: string, namespace: string, metadata: JsonObject): RouteClient {
    const id = `${type}~10.9.9.9~client.${namespace}~${namespace}.svc.cluster.local`;
    return new RouteClient(this.database.view(proxyFromNode({ id, metadata: { NAMESPACE: namespace, CLUSTER_ID: "Kubernetes", ...metadata } })));
  }
}

export interface JsonVirtualHost {
  readonly name: string;
  readonly domains: readonly string[];
  readonly routes?: readonly JsonObject[];
  readonly [field: string]: unknown;
}

/** A proxy that asks for its routes. */
export class RouteClient {
  constructor(readonly view: View<Proxy>) {}

  resource(name: string): Resource {
    return this.view.call(routeOf, name);
  }

  configuration(name: string): { readonly virtualHosts?: readonly JsonVirtualHost[]; readonly [field: string]: unknown } {
    return toJson(RouteConfigurationSchema, fromBinary(RouteConfigurationSchema, this.resource(name).bytes), { registry: types }) as never;
  }

  /** Name to virtual host. */
  hosts(name: string): Readonly<Record<string, JsonVirtualHost>> {
    return Object.fromEntries((this.configuration(name).virtualHosts ?? []).map((host) => [host.name, host]));
  }

  /** The routes of the service `cart.shop` at port 80, where tests route. */
  cartRoutes(): readonly JsonObject[] {
    return this.hosts("80")["cart.shop.svc.cluster.local:80"]?.routes ?? [];
  }

  /** The only route of `cart.shop`. */
  cartRoute(): JsonObject {
    const routes = this.cartRoutes();
    return routes.length === 1 ? routes[0]! : fail(`${routes.length} routes`);
  }
}

/** The routes that a VirtualService for `cart.shop` gives a sidecar of its namespace. */
export function routesFor(http: JsonValue, options: ConstructorParameters<typeof RouteMesh>[1] = {}): readonly JsonObject[] {
  return new RouteMesh(cart + cartVirtualService(http), options).sidecar().cartRoutes();
}

/** The only one of them. */
export function routeFor(http: JsonObject, options: ConstructorParameters<typeof RouteMesh>[1] = {}): JsonObject {
  const routes = routesFor([http], options);
  return routes.length === 1 ? routes[0]! : fail(`${routes.length} routes`);
}

export const cart = serviceYaml("cart", { ip: "10.96.0.1" });

export function cartVirtualService(http: JsonValue, spec: JsonObject = {}): string {
  return istioYaml("VirtualService", "cart", { hosts: ["cart"], http, ...spec });
}

/** A route's destination `cart.shop`. */
export const toCart = { route: [{ destination: { host: "cart" } }] };

function fail(message: string): never {
  throw new Error(message);
}
