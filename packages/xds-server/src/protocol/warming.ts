import type { Resource } from "@istiod/resources";
import { Reader } from "../wire/reader.js";

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
  const reader = new Reader(cluster, 0, cluster.length);
  try {
    while (reader.next()) {
      if (reader.field !== edsClusterConfig || !reader.delimited) continue;
      const config = new Reader(cluster, reader.from, reader.to);
      while (config.next()) {
        if (config.field !== serviceNameField || !config.delimited || config.to === config.from) continue;
        return Buffer.from(cluster.subarray(config.from, config.to)).toString("utf8");
      }
    }
  } catch (error) {
    // What a source gives for a cluster is for the client to judge.
    if (!(error instanceof RangeError)) throw error;
  }
  return undefined;
}
