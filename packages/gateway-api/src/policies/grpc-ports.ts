import { backends, type BackendReference, grpcRoutes } from "@istiod/config-schema";
import { index, query, type QueryContext } from "@istiod/incremental";
import { gatewayApiGroup } from "../names.js";
import { isGranted } from "../references/reference-grants.js";
import type { PolicyTarget } from "./policy-target.js";

/** A host of an object that policies apply to. */
export interface TargetHost {
  readonly target: PolicyTarget;
  readonly host: string;
}

const grpcRoutesByBackend = index(grpcRoutes, "byBackend", ({ namespace, spec }) =>
  spec.rules.flatMap(({ backendRefs }) => backendRefs.map((ref) => backendKey(ref, namespace))),
);

function backendKey({ kind = "Service", namespace, name }: BackendReference, routeNamespace: string): string {
  return kind === "Hostname" ? `Hostname/${name}` : `${kind}/${namespace ?? routeNamespace}/${name}`;
}

/**
 * The numbers of the ports of an object to which GRPCRoutes send calls, sorted. They must have HTTP/2. Routes of other
 * namespaces count with a grant only, so that they do not change how others reach the object.
 */
export const grpcPorts = query("gatewayApiGrpcPorts", (q, { target, host }: TargetHost): readonly number[] => {
  const { kind, namespace, name } = target;
  const key = kind === "ServiceEntry" ? `Hostname/${host}` : `${kind}/${namespace}/${name}`;
  // A reference to an XBackend has no port.
  const only = kind === "XBackend" ? q.read(backends, `${namespace}/${name}`)?.spec.port : undefined;
  const ports = new Set<number>();
  for (const route of q.read(grpcRoutesByBackend, key))
    for (const ref of route.spec.rules.flatMap(({ backendRefs }) => backendRefs)) {
      const port = ref.port ?? only;
      if (port === undefined || backendKey(ref, route.namespace) !== key) continue;
      if (route.namespace === namespace || isGrantedTo(q, target, route.namespace, ref)) ports.add(port);
    }
  return [...ports].sort((a, b) => a - b);
});

function isGrantedTo(
  q: QueryContext,
  { namespace, name }: PolicyTarget,
  routeNamespace: string,
  { group = "", kind = "Service" }: BackendReference,
): boolean {
  const from = { group: gatewayApiGroup, kind: "GRPCRoute", namespace: routeNamespace };
  return q.call(isGranted, { from, to: { group, kind, namespace, name } });
}
