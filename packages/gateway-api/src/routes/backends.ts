import { createHash } from "node:crypto";
import { type BackendObjectReference, backends, configCluster, inferencePools, services } from "@istiod/config-schema";
import { query, type QueryContext } from "@istiod/incremental";
import { declarationsOf, endpointPickerOf, service } from "@istiod/service-discovery";
import { isGranted } from "../references/reference-grants.js";
import { features } from "../settings/features.js";
import { type RouteReference } from "./route.js";
import type { RouteProblem } from "./route-problem.js";
import { gatewayApiGroup } from "../names.js";

/** A reference of a route to a backend. */
export interface RouteBackend {
  readonly routeKind: RouteReference["kind"];
  /** Namespace of the route. */
  readonly namespace: string;
  readonly ref: BackendObjectReference;
  /** Set for routes of gateways: references to other namespaces need a ReferenceGrant. */
  readonly needsGrant: boolean;
}

/** The host and port that a reference resolves to. */
export interface BackendDestination {
  readonly host: string;
  readonly port: number;
}

/** The destination of a reference. */
export interface ResolvedBackend {
  /** Absent if requests for the backend fail. */
  readonly destination?: BackendDestination;
  readonly problem?: RouteProblem;
  /** Set if the destination is valid and yet receives nothing, with the reason. */
  readonly note?: string;
  /** Reports that the problem disables all rules of the route. */
  readonly isFatal?: true;
}

/**
 * The destination of a backend of a route. Source: `buildDestination` in
 * pilot/pkg/config/kube/gateway/conversion.go.
 */
export const resolvedBackend = query("gatewayApiBackend", (q, backend: RouteBackend): ResolvedBackend => {
  const { ref, namespace, routeKind, needsGrant } = backend;
  const { group = "", kind = "Service", name } = ref;
  const target = { group, kind, namespace: ref.namespace ?? namespace, name };
  if (needsGrant && target.namespace !== namespace) {
    const from = { group: gatewayApiGroup, kind: routeKind, namespace };
    if (!q.call(isGranted, { from, to: target }))
      return failed(
        "RefNotPermitted",
        `backendRef ${name}/${target.namespace} not accessible to a ${routeKind} in namespace "${namespace}" (missing a ReferenceGrant?)`,
      );
  }
  switch (`${group}/${kind}`) {
    case "/Service":
      if (name.includes("."))
        return fatal("service name invalid; the name of the Service must be used, not the hostname.");
      return ofService(q, target, ref, `${name}.${target.namespace}.svc.${features.domain(q)}`);
    case "networking.istio.io/Hostname":
      if (ref.namespace !== undefined) return fatal("namespace may not be set with Hostname type");
      return withPort(ref, name, isKnownHost(q, namespace, name) ? undefined : notFound(name));
    case `${features.multiClusterGroup(q)}/ServiceImport`: {
      const domain = features.clusterSetHosts(q) ? "clusterset.local" : features.domain(q);
      return ofService(q, target, ref, `${name}.${target.namespace}.svc.${domain}`);
    }
    case "gateway.networking.x-k8s.io/XBackend":
      return ofExternalBackend(q, target, ref);
    case "inference.networking.k8s.io/InferencePool":
      return ofInferencePool(q, target);
    default:
      return failed("InvalidKind", `referencing unsupported backendRef: group "${group}" kind "${kind}"`);
  }
});

interface Target {
  readonly namespace: string;
  readonly name: string;
}

function failed(reason: RouteProblem["reason"], message: string): ResolvedBackend {
  return { problem: { reason, message } };
}

function fatal(message: string): ResolvedBackend {
  return { problem: { reason: "InvalidDestination", message }, isFatal: true };
}

function notFound(what: string): RouteProblem {
  return { reason: "BackendNotFound", message: `backend(${what}) not found` };
}

function withPort({ port }: BackendObjectReference, host: string, problem: RouteProblem | undefined): ResolvedBackend {
  if (port === undefined) return fatal("port is required in backendRef");
  return { destination: { host, port }, ...(problem !== undefined && { problem }) };
}

/** The numbers of the ports of a Service of the config cluster; undefined if it does not exist. */
const servicePorts = query("gatewayApiServicePorts", (q, { namespace, name }: Target): readonly number[] | undefined =>
  q.read(services, `${configCluster(q)}/${namespace}/${name}`)?.spec.ports.map(({ port }) => port),
);

/** Returns a note on a port that a Service does not have; undefined if it has the port, or does not exist. */
export function missingPort(
  q: QueryContext,
  { namespace, name }: Target,
  port: number | undefined,
): string | undefined {
  const ports = q.call(servicePorts, { namespace, name });
  if (ports === undefined || ports.length === 0 || port === undefined || ports.includes(port)) return undefined;
  return `Service ${namespace}/${name} has no port ${port}`;
}

function ofService(
  q: QueryContext,
  { namespace, name }: Target,
  ref: BackendObjectReference,
  host: string,
): ResolvedBackend {
  const exists = q.call(servicePorts, { namespace, name }) !== undefined;
  const resolved = withPort(ref, host, exists ? undefined : notFound(host));
  const note = missingPort(q, { namespace, name }, ref.port);
  return note === undefined ? resolved : { ...resolved, note };
}

/** Reports whether a namespace declares a host. */
function isKnownHost(q: QueryContext, namespace: string, host: string): boolean {
  return q.call(declarationsOf, `${namespace}/${host}`).length > 0;
}

function ofExternalBackend(q: QueryContext, { namespace, name }: Target, ref: BackendObjectReference): ResolvedBackend {
  if (!features.alpha(q))
    return failed(
      "InvalidKind",
      `The Alpha Gateway API is not enabled, XBackend is invalid. To enable, set ${features.alpha.variable} to true in istiod.`,
    );
  const backend = q.read(backends, `${namespace}/${name}`);
  if (backend === undefined) return { problem: notFound(name) };
  const { type, port, externalHostname: host } = backend.spec;
  if (type !== "ExternalHostname" || host === undefined)
    return failed("InvalidKind", `backend(${name}) type: expected ExternalHostname, got ${type}`);
  if (ref.port !== undefined && ref.port !== port)
    return failed("BackendNotFound", `backend(${name}) does not expose port ${ref.port}, expected ${port}`);
  const problem = isKnownHost(q, namespace, host) ? undefined : notFound(host);
  return { destination: { host, port }, ...(problem !== undefined && { problem }) };
}

/** Maximum length of the name of a Service. */
const maxServiceName = 63;

/** Returns the name of the Service that stands for an InferencePool. */
export function inferencePoolServiceName(pool: string): string {
  const suffix = `-ip-${createHash("sha256").update(pool).digest("hex").slice(0, 8)}`;
  return `${pool.slice(0, maxServiceName - suffix.length)}${suffix}`;
}

function ofInferencePool(q: QueryContext, { namespace, name }: Target): ResolvedBackend {
  if (!features.inferenceExtension(q))
    return failed(
      "InvalidKind",
      `InferencePool is not enabled. To enable, set ${features.inferenceExtension.variable} to true in istiod`,
    );
  if (name.includes("."))
    return fatal("InferencePool.Name invalid; the name of the InferencePool must be used, not the hostname.");
  if (q.read(inferencePools, `${namespace}/${name}`) === undefined) return { problem: notFound(name) };
  const host = `${inferencePoolServiceName(name)}.${namespace}.svc.${features.domain(q)}`;
  const found = q.call(service, `${namespace}/${host}`);
  if (found === undefined) return { problem: notFound(host) };
  const destination = { host, port: found.ports[0]?.number ?? 0 };
  return endpointPickerOf(q, found) !== undefined
    ? { destination }
    : {
        destination,
        problem: {
          reason: "InvalidDestination",
          message: "InferencePool service invalid, extensionRef labels not found",
        },
        isFatal: true,
      };
}
