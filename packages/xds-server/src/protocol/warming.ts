import { FieldReader, WireError } from "@istiod/protobuf-wire";
import type { Resource } from "@istiod/resources";
import type { Selection } from "../wire/body-cache.js";
import { sliceNames, type Sliced } from "../sliced.js";
import type { TypeState } from "./type-state.js";

/**
 * Tracks endpoints that a client waits for: Envoy warms each cluster that it receives, and waits for its endpoints even
 * if they are unchanged.
 */
export class Warming {
  /** Endpoints whose clusters were sent on this stream before the client subscribed to endpoints. */
  readonly #awaited = new Set<string>();

  /** Endpoints that the first response must contain even if the client has them in this version. */
  get awaited(): ReadonlySet<string> {
    return this.#awaited;
  }

  /**
   * Marks the subscribed endpoints of clusters that are being sent to be sent again.
   *
   * @param endpoints state of the endpoint type, if the client subscribed to it
   * @param reconnected whether the client sent initial versions of clusters
   * @returns whether endpoints have to be sent
   */
  *clustersSent(clusters: Selection, endpoints: TypeState | undefined, reconnected: boolean): Sliced<boolean> {
    if (endpoints?.known === undefined && !reconnected && this.#awaited.size === 0) return false;
    let handled = 0;
    for (const cluster of clusters.resources) {
      if (++handled % sliceNames === 0) yield 0;
      const name = serviceNameOf(cluster);
      if (endpoints?.known === undefined) this.#awaited.add(name);
      else if (endpoints.covers(name)) endpoints.resend.add(name);
    }
    return endpoints?.known !== undefined && endpoints.resend.size > 0;
  }

  /** Resets the state after a response with endpoints was built. */
  endpointsSent(): void {
    this.#awaited.clear();
  }
}

const known = new WeakMap<Resource, string>();

/**
 * Returns the name of a cluster's endpoints: `eds_cluster_config.service_name`, or the cluster's own name.
 * Reads the encoded `envoy.config.cluster.v3.Cluster` without creating messages.
 */
function serviceNameOf(cluster: Resource): string {
  let name = known.get(cluster);
  if (name === undefined) known.set(cluster, (name = edsServiceName(cluster.bytes) ?? cluster.name));
  return name;
}

const edsClusterConfig = 3;
const serviceNameField = 2;

function edsServiceName(cluster: Uint8Array): string | undefined {
  const reader = new FieldReader(cluster, 0, cluster.length);
  try {
    while (reader.next()) {
      if (reader.field !== edsClusterConfig || !reader.delimited) continue;
      const config = new FieldReader(cluster, reader.from, reader.to);
      while (config.next()) {
        if (config.field !== serviceNameField || !config.delimited || config.to === config.from) continue;
        return Buffer.from(cluster.subarray(config.from, config.to)).toString("utf8");
      }
    }
  } catch (error) {
    // Rejecting an invalid cluster is up to the client.
    if (!(error instanceof WireError)) throw error;
  }
  return undefined;
}
