import { create } from "@bufbuild/protobuf";
import type { VirtualServiceObject } from "@istiod/config-schema";
import { query, type QueryContext } from "@istiod/incremental";
import { type HTTPRoute, VirtualServiceSchema } from "@istiod/istio-api/networking/v1alpha3/virtual_service";
import { httpRoutesAtPort } from "./conversion/constrained-routes.js";
import { convertedHttpRules } from "./conversion/http-rules.js";
import { inPrecedence } from "./conversion/precedence.js";
import { derivedAnnotations, derivedVirtualService } from "./derived-virtual-service.js";
import { byAge, type HttpPart, httpParts } from "./http-parts.js";
import { l4VirtualService, l4VirtualServiceNames } from "./l4-virtual-services.js";
import { meshGateway } from "./route-attachments.js";
import { routesOfKinds } from "./route.js";
import { routesOfVirtualService } from "./routes-by-target.js";

/** Keys (`namespace/name`) of the VirtualServices that stand for routes of the Gateway API. */
export const gatewayApiVirtualServiceKeys = query("gatewayApiVirtualServiceKeys", (q): readonly string[] => {
  const l4 = routesOfKinds(q, ["TCPRoute", "TLSRoute"]).flatMap((route) => {
    const namespace = route.key.slice(0, route.key.indexOf("/"));
    return q.call(l4VirtualServiceNames, route).map((name) => `${namespace}/${name}`);
  });
  const oldest = new Map<string, HttpPart>();
  for (const route of routesOfKinds(q, ["HTTPRoute", "GRPCRoute"])) {
    for (const part of httpParts(q, route)) {
      const first = oldest.get(part.virtualService);
      if (first === undefined || byAge(part, first) < 0) oldest.set(part.virtualService, part);
    }
  }
  return [...l4, ...[...oldest].map(([name, { namespace }]) => `${namespace}/${name}`)];
});

/**
 * A VirtualService that stands for routes of the Gateway API: for all HTTPRoutes and GRPCRoutes with the same host at
 * the same gateway, or of one namespace for the same host and port of the mesh; or for one host of a TCPRoute or
 * TLSRoute. It is in the namespace of the oldest of its routes. Source:
 * pilot/pkg/config/kube/gateway/route_collections.go.
 */
export const gatewayApiVirtualService = query(
  "gatewayApiVirtualService",
  (q, key: string): VirtualServiceObject | undefined => {
    const slash = key.indexOf("/");
    const [namespace, name] = [key.slice(0, slash), key.slice(slash + 1)];
    const l4 = q.call(l4VirtualService, { namespace, name });
    if (l4 !== undefined) return l4;
    const parts = q.call(partsOfVirtualService, name);
    const [oldest] = parts.slices[0] ?? [];
    if (oldest === undefined || oldest.namespace !== namespace) return undefined;
    return derivedVirtualService(q, {
      namespace,
      name,
      creationTimestamp: oldest.creationTimestamp,
      annotations: parts.annotations,
      spec: create(VirtualServiceSchema, {
        hosts: [oldest.host],
        gateways: [oldest.gateway],
        http: [...inPrecedence(parts.slices.flatMap((_, slice) => q.call(rulesOfSlice, { name, slice })))],
      }),
    });
  },
);

/** The parts of a VirtualService, and the annotations that name their routes. */
interface VirtualServiceParts {
  /** The oldest first. */
  readonly slices: readonly (readonly HttpPart[])[];
  readonly annotations: Readonly<Record<string, string>>;
}

const sliceSize = 64;

/** The parts of a VirtualService by its name. A change of the rules of a route does not change them. */
const partsOfVirtualService = query("gatewayApiPartsOfVirtualService", (q, name: string): VirtualServiceParts => {
  const all = q
    .call(routesOfVirtualService, name)
    .flatMap((route) => httpParts(q, route).filter((part) => part.virtualService === name))
    .sort(byAge);
  const slices: HttpPart[][] = [];
  for (let from = 0; from < all.length; from += sliceSize) slices.push(all.slice(from, from + sliceSize));
  return { slices, annotations: derivedAnnotations(all.map(({ route }) => route)) };
});

interface Slice {
  /** Name of the VirtualService. */
  readonly name: string;
  /** Index of the slice. */
  readonly slice: number;
}

/** The rules of some parts of a VirtualService. A changed route asks for the rules of its slice only. */
const rulesOfSlice = query("gatewayApiRulesOfSlice", (q, { name, slice }: Slice): readonly HTTPRoute[] =>
  (q.call(partsOfVirtualService, name).slices[slice] ?? []).flatMap((part) => rulesOf(q, part)),
);

function rulesOf(q: QueryContext, { route, gateway, port }: HttpPart): readonly HTTPRoute[] {
  const { routes } = q.call(convertedHttpRules, { ...route, inMesh: gateway === meshGateway });
  return port === undefined ? routes : httpRoutesAtPort(routes, port);
}
