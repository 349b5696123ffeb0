import { type MessageInitShape, toJson } from "@bufbuild/protobuf";
import { YamlMesh } from "@istiod/config-schema/testing";
import {
  gatewayApiVirtualService,
  gatewayApiVirtualServiceKeys,
  type RouteReference,
  routeStatus,
} from "@istiod/gateway-api";
import { type HTTPRouteSchema, VirtualServiceSchema } from "@istiod/istio-api/networking/v1alpha3/virtual_service";

/** A field of a spec, as a value of YAML's flow style. */
type Flow = string;

/** An object of the Gateway API. `age` is the second of its creation. */
export function gatewayApi(kind: string, key: string, spec: Flow, age = 0): string {
  const [namespace, name] = key.split("/");
  const created = new Date(Date.UTC(2026, 0, 1, 0, 0, age)).toISOString();
  const version = kind === "ReferenceGrant" ? "v1beta1" : "v1";
  return `---
apiVersion: gateway.networking.k8s.io/${version}
kind: ${kind}
metadata: {name: ${name}, namespace: ${namespace}, creationTimestamp: "${created}"}
spec: ${spec}
`;
}

/** Services `namespace/name` with port 80, and their Namespaces. */
export function servicesOf(...keys: readonly string[]): string {
  const services = keys.map((key) => {
    const [namespace, name] = key.split("/");
    return `---
apiVersion: v1
kind: Service
metadata: {name: ${name}, namespace: ${namespace}}
spec: {clusterIP: 10.0.0.1, ports: [{name: http, port: 80}]}
`;
  });
  const namespaces = [...new Set(keys.map((key) => key.split("/")[0]))].map(
    (namespace) => `---\napiVersion: v1\nkind: Namespace\nmetadata: {name: ${namespace}}\n`,
  );
  return [...services, ...namespaces].join("");
}

/** A Gateway with listeners; routes of all namespaces are allowed unless a listener states otherwise. */
export function gateway(key: string, listeners: Flow): string {
  return gatewayApi("Gateway", key, `{gatewayClassName: istio, listeners: ${listeners}}`);
}

/** An HTTP listener for routes of all namespaces. */
export const httpListener = (name: string, more = ""): Flow =>
  `{name: ${name}, port: 80, protocol: HTTP, allowedRoutes: {namespaces: {from: All}}${more === "" ? "" : `, ${more}`}}`;

type Conditions = Readonly<Record<string, string>>;

/** A mesh with routes. */
export class RouteMesh extends YamlMesh<unknown> {
  /** The VirtualServices that stand for routes, by `namespace/name`, in JSON. */
  virtualServices(): Readonly<
    Record<
      string,
      { readonly hosts: readonly string[]; readonly gateways: readonly string[]; readonly http?: readonly HttpJson[] }
    >
  > {
    const view = this.db.view(undefined);
    return Object.fromEntries(
      view.call(gatewayApiVirtualServiceKeys).map((key) => {
        const spec = view.call(gatewayApiVirtualService, key)?.spec;
        if (spec === undefined) throw new Error(`VirtualService ${key} is listed, but does not exist`);
        return [key, toJson(VirtualServiceSchema, spec) as never];
      }),
    );
  }

  /** The HTTP rules of the only VirtualService. */
  rules(): readonly HttpJson[] {
    const all = Object.values(this.virtualServices());
    if (all.length !== 1) throw new Error(`${all.length} VirtualServices, expected 1`);
    return all[0]?.http ?? [];
  }

  /** The conditions of each parent of a route, as `status reason: message` by type. */
  statuses(kind: RouteReference["kind"], key: string): readonly Conditions[] {
    const { parents } = this.db.view(undefined).call(routeStatus, { kind, key }) ?? { parents: [] };
    return parents.map(({ conditions }) =>
      Object.fromEntries(
        conditions.map(({ type, status, reason, message }) => [type, `${status} ${reason}: ${message}`]),
      ),
    );
  }
}

/** A rule of a VirtualService in JSON. */
export type HttpJson = Readonly<Record<string, unknown>> &
  Partial<Pick<MessageInitShape<typeof HTTPRouteSchema>, "name">>;
