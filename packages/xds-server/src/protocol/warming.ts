import type { Resource } from "@istiod/resources";
import { fieldsOf } from "../wire/protobuf.js";

const known = new WeakMap<Resource, string>();

/**
 * The name under which a cluster's endpoints are asked for: `eds_cluster_config.service_name`, else the cluster's own name.
 * Read off the encoded `envoy.config.cluster.v3.Cluster` without decoding it.
 */
export function endpointsNameOf(cluster: Resource): string {
  let name = known.get(cluster);
  if (name === undefined) known.set(cluster, (name = serviceName(cluster.bytes) ?? cluster.name));
  return name;
}

const edsClusterConfig = 3;
const serviceNameField = 2;

function serviceName(cluster: Uint8Array): string | undefined {
  for (const field of fieldsOf(cluster)) {
    if (field.number !== edsClusterConfig) continue;
    for (const inner of fieldsOf(field.value)) {
      if (inner.number === serviceNameField && inner.value.length > 0) return Buffer.from(inner.value).toString("utf8");
    }
  }
  return undefined;
}
