import { create } from "@bufbuild/protobuf";
import { query, type QueryContext } from "@istiod/incremental";
import {
  type ConnectionPoolSettings,
  type TrafficPolicy,
  TrafficPolicySchema,
} from "@istiod/istio-api/networking/v1alpha3/destination_rule";
import {
  type ConsolidatedRule,
  inboundDestinationRuleFor,
  mesh,
  overlayPolicy,
  portPolicy,
  scopeOf,
  serviceInScope,
  sidecarSpec,
  withMeshDefaults,
} from "@istiod/push-context";
import { type Resource, resource } from "@istiod/resources";
import { keyOfId, type Service, service, type ServicePort, splitKey } from "@istiod/service-discovery";
import { configPath } from "../../config-metadata.js";
import { fillTemplate } from "../../encoding/template.js";
import { delimitedStatPrefix, inboundClusterName } from "../../resource-names.js";
import { clusterDefaults } from "../cluster-defaults.js";
import { formatStatName } from "../stat-name.js";
import { encodePolicy } from "../traffic-policy/policy-encoding.js";
import { inboundPlaceholder, inboundTemplate } from "./inbound-template.js";

/** A port that the workload serves. Policies are those of the first service. */
export interface InboundClusterRef {
  /** The port in the cluster's name: the workload's, or that of a Sidecar's ingress listener. */
  readonly port: number;
  /** The destination: an address, a path (`unix://…`), or empty for the original destination. */
  readonly bind: string;
  /** The destination port; 0 for a path. */
  readonly targetPort: number;
  readonly servicePort: ServicePort;
  /** Ids of the services with this port. If empty, the port belongs to no service and has the host `fallbackHost`. */
  readonly services: readonly string[];
  readonly fallbackHost: string;
}

/**
 * The cluster through which the proxy reaches its own workload. Source: pilot/pkg/networking/core/cluster_builder.go,
 * buildInboundCluster.
 */
export const inboundCluster = query("inboundCluster", (q, ref: InboundClusterRef): Resource => {
  const { port, bind, servicePort, fallbackHost } = ref;
  const found = ref.services.flatMap((id) => q.call(service, id) ?? []);
  const [primary] = found;
  const named = primary === undefined || primary.meshExternal ? [] : found;
  const rule = importedDestinationRule(q, primary?.hostname ?? fallbackHost);
  const template = q.call(inboundTemplate, {
    protocol: servicePort.protocol,
    encodedPolicy: encodePolicy(inboundPolicy(q, rule, servicePort.number, port)),
    bind,
    targetPort: bind === "" ? primary?.passthroughTargetPorts[servicePort.number] : ref.targetPort,
    serviceCount: named.length,
    hasDestinationRule: rule?.spec.trafficPolicy !== undefined,
  });
  const name = inboundClusterName(port);
  const bytes = fillTemplate(template, {
    [inboundPlaceholder.name]: name,
    [inboundPlaceholder.statName]: delimitedStatPrefix(statName(q, ref, primary) ?? name),
    [inboundPlaceholder.rule]: rule === undefined ? "" : configPath("DestinationRule", rule),
    ...Object.fromEntries(named.flatMap(servicePlaceholders)),
  });
  return resource(name, bytes);
});

function statName(
  q: QueryContext,
  { port, servicePort, fallbackHost }: InboundClusterRef,
  primary: Service | undefined,
): string | undefined {
  const pattern = mesh(q).inboundClusterStatName;
  if (pattern === "") return undefined;
  const named = primary ?? { hostname: fallbackHost, name: fallbackHost, namespace: "", registry: "External" as const };
  return formatStatName(pattern, { service: named, port: servicePort, targetPort: port });
}

function servicePlaceholders(
  { hostname, name, namespace }: Service,
  position: number,
): readonly (readonly [string, string])[] {
  const { host, service: of, namespace: within } = inboundPlaceholder;
  return [
    [host(position), hostname],
    [of(position), name],
    [within(position), namespace],
  ];
}

/** Returns the DestinationRule for the host, if the client's scope imports the host. */
function importedDestinationRule(q: QueryContext, host: string): ConsolidatedRule | undefined {
  const scoped = q.call(serviceInScope, { scope: scopeOf(q), hostname: host });
  if (scoped === undefined) return undefined;
  const [serviceNamespace] = splitKey(keyOfId(scoped.service));
  return q.call(inboundDestinationRuleFor, { host, serviceNamespace });
}

/** Returns the DestinationRule's policy over the mesh's defaults, with the Sidecar's connection pool on top. */
function inboundPolicy(
  q: QueryContext,
  rule: ConsolidatedRule | undefined,
  servicePort: number,
  port: number,
): TrafficPolicy | undefined {
  const policy = withMeshDefaults(
    q.call(clusterDefaults).trafficPolicy,
    portPolicy(rule?.spec.trafficPolicy, servicePort),
  );
  const connectionPool = sidecarConnectionPool(q, port);
  if (connectionPool === undefined) return policy;
  const own = create(TrafficPolicySchema, { connectionPool });
  return policy === undefined ? own : overlayPolicy(policy, own);
}

function sidecarConnectionPool(q: QueryContext, port: number): ConnectionPoolSettings | undefined {
  const sidecar = q.call(sidecarSpec, scopeOf(q));
  const ofPort = sidecar?.ingress.find(
    (listener) => listener.port?.number === port && listener.connectionPool !== undefined,
  );
  return ofPort?.connectionPool ?? sidecar?.inboundConnectionPool;
}
