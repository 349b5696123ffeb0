import type { Resource } from "@istiod/resources";
import type { Selection } from "../wire/body-cache.js";
import { Reader } from "../wire/reader.js";
import type { TypeState } from "./type-state.js";

/** Which endpoints a client waits for: Envoy warms each cluster that it is sent, and waits for its endpoints even if it has them. */
export class Warming {
  /** Names of endpoints whose clusters were sent on this stream before the endpoints were first asked for. */
  readonly #early = new Set<string>();

  /** Names of endpoints that must be sent in the first response with endpoints, whatever the client held when it connected. */
  get early(): ReadonlySet<string> {
    return this.#early;
  }

  /**
   * Clusters are sent: marks their endpoints, where the client subscribes to them, to be sent again.
   *
   * @param endpoints the subscription to endpoints, if there is one
   * @param returned whether the client stated which clusters it had
   * @returns whether endpoints are to be sent because of it
   */
  sent(clusters: Selection, endpoints: TypeState | undefined, returned: boolean): endpoints is TypeState {
    if (endpoints?.known === undefined) {
      if (returned || this.#early.size > 0)
        for (const cluster of clusters.resources) this.#early.add(endpointsNameOf(cluster));
      return false;
    }
    for (const cluster of clusters.resources) {
      const name = endpointsNameOf(cluster);
      if (endpoints.covers(name)) endpoints.resend.add(name);
    }
    return endpoints.resend.size > 0;
  }

  /** A response with endpoints was made. */
  endpointsSent(): void {
    this.#early.clear();
  }
}

const known = new WeakMap<Resource, string>();

/**
 * The name under which a cluster's endpoints are asked for: `eds_cluster_config.service_name`, else the cluster's own name.
 * Read off the encoded `envoy.config.cluster.v3.Cluster` without decoding it.
 */
function endpointsNameOf(cluster: Resource): string {
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
