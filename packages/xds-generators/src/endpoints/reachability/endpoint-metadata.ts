import type { QueryContext } from "@istiod/incremental";
import { features } from "@istiod/push-context";
import {
  CANONICAL_NAME_LABEL,
  CANONICAL_REVISION_LABEL,
  canonicalServiceOf,
  DISABLED_TLS_MODE,
  type Endpoint,
  type Labels,
  type Service,
} from "@istiod/service-discovery";

/** By this metadata Envoy chooses among the cluster's transport sockets. */
export const transportSocketMatch = "envoy.transport_socket_match";
/** By this metadata Envoy's connection to an internal listener knows where it leads. */
export const originalDestination = "envoy.filters.listener.original_dst";

/** Metadata by the name of the filter that it is for. */
export type EndpointMetadata = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** What an endpoint's metadata tells, beside where it leads. */
interface EndpointAttributes {
  /** Empty or `disabled`: no mutual TLS. */
  readonly tlsMode: string;
  readonly workloadName: string;
  readonly namespace: string;
  readonly labels: Labels;
  readonly cluster: string;
}

/** The facts of an endpoint of a service. Services outside of the mesh lend it theirs, where so configured. */
export function endpointAttributes(
  q: QueryContext,
  service: Service,
  endpoint: Endpoint,
  mutualTls: boolean,
): EndpointAttributes {
  const { workloadName, namespace, labels, cluster } = endpoint;
  const tlsMode = mutualTls ? endpoint.tlsMode : "";
  if (!service.meshExternal || !features.canonicalServiceForMeshExternal(q))
    return { tlsMode, workloadName, namespace, labels, cluster };
  const name = service.labels[CANONICAL_NAME_LABEL];
  const revision = service.labels[CANONICAL_REVISION_LABEL];
  const canonical =
    name === undefined ? {} : { [CANONICAL_NAME_LABEL]: name, [CANONICAL_REVISION_LABEL]: revision ?? "" };
  return { tlsMode, workloadName, namespace: service.namespace, labels: { ...labels, ...canonical }, cluster };
}

/**
 * The metadata of an endpoint. `istio.workload` tells clients whose servers exchange no metadata who answers, as
 * `workload;namespace;canonical name;revision;cluster`. Source: pilot/pkg/networking/util, AppendLbEndpointMetadata.
 */
export function endpointMetadata(q: QueryContext, facts: EndpointAttributes): EndpointMetadata {
  const out: Record<string, Readonly<Record<string, string>>> = {};
  if (facts.tlsMode !== "" && facts.tlsMode !== DISABLED_TLS_MODE)
    out[transportSocketMatch] = { tlsMode: facts.tlsMode };
  if (features.telemetryLabel(q) && features.endpointTelemetryLabel(q)) {
    const { name, revision } = canonicalServiceOf(facts.labels, facts.workloadName);
    out["istio"] = {
      workload: [facts.workloadName, facts.namespace, name, revision === "latest" ? "" : revision, facts.cluster].join(
        ";",
      ),
    };
  }
  return out;
}
