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

/** The metadata by which Envoy selects a transport socket of the cluster. */
export const transportSocketMatch = "envoy.transport_socket_match";
/** The metadata that tells an internal listener the destination. */
export const originalDestination = "envoy.filters.listener.original_dst";

/** Metadata by filter name. */
export type EndpointMetadata = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** The attributes of an endpoint that appear in its metadata. */
interface EndpointAttributes {
  /** Empty or `disabled`: no mutual TLS. */
  readonly tlsMode: string;
  readonly workloadName: string;
  readonly namespace: string;
  readonly labels: Labels;
  readonly cluster: string;
}

/**
 * Returns the attributes of an endpoint. Endpoints of services outside the mesh have those of the service, if so
 * configured.
 */
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
 * Returns the metadata of an endpoint. `istio.workload` identifies servers that do not exchange metadata, as
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
