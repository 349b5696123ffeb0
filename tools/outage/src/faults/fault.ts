import type { ChangeKind, Mesh } from "@istiod/bench";
import type { RemoteCluster } from "../cluster/remote-cluster.js";
import type { TestCluster } from "../cluster/test-cluster.js";
import type { Loss } from "../fleet/loss-monitor.js";

/** The cluster that a fault befalls, with the mesh that its objects are generated from. */
export interface FaultContext {
  readonly cluster: TestCluster;
  /** The remote cluster that istiod reads as well. */
  readonly remote: RemoteCluster;
  readonly mesh: Mesh;
}

/** A fault of an API server, or of the network before it. */
export interface Fault {
  readonly name: string;
  /** State of an istiod that starts during the fault. */
  readonly startup: "ready" | "not-ready";
  /** istiod reports its source as stale during the fault. Default false: it does not, or only after a while. */
  readonly isNoticed?: boolean;
  /** The configuration follows the cluster during the fault. Default false: after it. */
  readonly isCurrent?: boolean;
  /** Changes of the cluster during the fault. Default: of endpoints, services, routes and policies. */
  readonly changes?: readonly ChangeKind[];
  /** Losses that are the fault's effect, at least one of which must occur. Default: none. */
  readonly isEffect?: (loss: Loss) => boolean;
  /** Environment variables of an istiod that starts during the fault. Default: none. */
  readonly startupEnv?: Readonly<Record<string, string>>;
  /** Losses that are the effect of a start during the fault, at least one of which must occur. Default: `isEffect`. */
  readonly startupEffect?: (loss: Loss) => boolean;
  /** Minimum duration in seconds. Default 0. */
  readonly minSeconds?: number;
  begin(context: FaultContext): Promise<void>;
  end(context: FaultContext): Promise<void>;
}
