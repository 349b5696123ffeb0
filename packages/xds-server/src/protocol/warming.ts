import { FieldReader, WireError } from "@istiod/protobuf-wire";
import { clusterType, endpointType, type Resource } from "@istiod/resources";
import { sliceNames, type Sliced } from "../sliced.js";
import type { Pass } from "./pass.js";
import type { Trigger } from "./trigger.js";
import type { TypeState } from "./type-state.js";

/**
 * Tracks endpoints that a client waits for: Envoy warms each cluster that it receives, and waits for its endpoints even
 * if they are unchanged.
 */
export class Warming {
  readonly #types: ReadonlyMap<string, TypeState>;
  readonly #pass: Pass;
  /** Endpoints whose clusters were sent on this stream before the client subscribed to endpoints. */
  readonly #awaited = new Set<string>();

  constructor(types: ReadonlyMap<string, TypeState>, pass: Pass) {
    this.#types = types;
    this.#pass = pass;
  }

  /** Endpoints that the first response must contain even if the client has them in this version. */
  get awaited(): ReadonlySet<string> {
    return this.#awaited;
  }

  /**
   * Marks the subscribed endpoints of clusters that are being sent to be sent again.
   *
   * @param reconnected whether the client sent initial versions of clusters
   * @returns the state of the endpoint type if endpoints have to be sent
   */
  *clustersSent(clusters: Iterable<Resource>, reconnected: boolean): Sliced<TypeState | undefined> {
    const endpoints = this.#types.get(endpointType);
    if (endpoints?.known === undefined && !reconnected && this.#awaited.size === 0) return undefined;
    let handled = 0;
    for (const cluster of clusters) {
      if (++handled % sliceNames === 0) yield 0;
      const name = serviceNameOf(cluster);
      if (endpoints?.known === undefined) this.#awaited.add(name);
      else if (endpoints.covers(name)) endpoints.resend.add(name);
    }
    return endpoints?.known !== undefined && endpoints.resend.size > 0 ? endpoints : undefined;
  }

  /** Marks the endpoints of clusters that are being sent, as `clustersSent`, and sends them in the next step. */
  *warm(clusters: Iterable<Resource>, reconnected: boolean, trigger: Trigger): Sliced<void> {
    const endpoints = yield* this.clustersSent(clusters, reconnected);
    if (endpoints === undefined || this.#pass.stepOf(endpoints) !== undefined) return;
    const { due } = endpoints;
    endpoints.due = undefined;
    if (due === undefined) this.#pass.prepend(endpoints, trigger, clusterType);
    else this.#pass.prepend(endpoints, due);
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
