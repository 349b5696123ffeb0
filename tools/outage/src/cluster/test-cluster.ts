import type { ClusterFaults } from "@istiod/kubernetes/testing";
import type { Relay } from "../relay.js";
import type { ClusterObjects } from "./cluster-objects.js";

/** An API server with everything that the faults need. */
export interface TestCluster {
  readonly name: string;
  /** Kubeconfig of istiod, through the relay. */
  readonly kubeconfig: string;
  /** Kubeconfig of istiod without the relay. */
  readonly directKubeconfig: string;
  /** Returns a kubeconfig of istiod with new credentials, through the relay. */
  issueKubeconfig(): Promise<string>;
  readonly relay: Relay;
  readonly faults: ClusterFaults;
  /** Writes as the administrator, without the relay. */
  readonly objects: ClusterObjects;
  /** Moves the server's clock until it is called with 0. */
  skewClock(seconds: number): Promise<void>;
  stop(): Promise<void>;
}
