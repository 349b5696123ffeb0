import { type ApiClient, Reflector } from "@istiod/kubernetes";
import type { Clock } from "@istiod/settings";
import type { ClusterReader } from "./cluster-reader.js";

export interface ReflectorWatchOptions {
  readonly clock?: Clock;
  /** Receives failed attempts. Default: states tell them. */
  readonly onError?: (error: unknown) => void;
}

/** Returns the function of a `ClusterReader` that follows objects, by a reflector for each type. */
export function reflectorWatch(client: ApiClient, options: ReflectorWatchOptions = {}): ClusterReader["watch"] {
  return ({ fields, ...target }, handler) => {
    const reflector = new Reflector({ ...options, ...target, client, fields: { fields }, handler });
    reflector.start();
    return () => reflector.stop();
  };
}
