import type { ApiClient } from "@istiod/kubernetes";
import type { JsonObject } from "../scenario.js";

/** An object that a server rejected. */
export interface RejectedObject {
  /** For example `VirtualService shop/cart`. */
  readonly object: string;
  readonly reason: string;
}

/** A running API server with the objects of a scenario. */
export interface FilledCluster {
  readonly client: ApiClient;
  /** The objects for a directory that is compared with it. */
  readonly objects: readonly JsonObject[];
  readonly rejected: readonly RejectedObject[];
  stop(): Promise<void>;
}
