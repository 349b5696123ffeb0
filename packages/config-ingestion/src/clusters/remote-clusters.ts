import { IngestionError } from "../errors.js";
import { sanitizeKubeconfig } from "./untrusted-kubeconfig.js";

/** Access to a cluster, as a Secret or a file gives it. */
export interface RemoteCluster {
  /** ID of the cluster. */
  readonly cluster: string;
  /** Secret or file that gives the access, for example `Secret istio-system/istio-remote-secret-east`. */
  readonly origin: string;
  /** Sanitized kubeconfig, as JSON. */
  readonly kubeconfig: string;
}

/** A change to the clusters that are connected. */
export type RemoteClusterChange =
  | { readonly type: "add" | "replace"; readonly remote: RemoteCluster }
  | { readonly type: "remove"; readonly cluster: string };

/** A fault of a Secret or a file that gives access to clusters. */
export interface RemoteClusterProblem {
  /** An access that is not used because of another one is a warning. */
  readonly severity: "error" | "warning";
  readonly origin: string;
  readonly cluster: string;
  readonly message: string;
}

export interface RemoteClustersOptions {
  /** ID of the cluster that this istiod reads its configuration from. It cannot be a remote one. */
  readonly configCluster: string;
  /** The flag that gives access to other clusters that are read already, by their IDs. Default: none. */
  readonly otherClusters?: ReadonlyMap<string, string>;
  /** Credentials of kubeconfigs that are allowed: see `sanitizeKubeconfig`. */
  readonly allowedCredentials?: ReadonlySet<string>;
}

/** Kubeconfigs of one Secret or file by the ID of the cluster; undefined: the Secret or file is deleted. */
export type OfferedClusters = ReadonlyMap<string, Uint8Array | string> | undefined;

interface Offer {
  readonly remote: RemoteCluster | undefined;
  /** Reason why the newest kubeconfig is rejected. The last good one is then kept. */
  readonly fault?: string;
}

/**
 * The clusters that Secrets and files give access to. Decides which of several accesses to one cluster is used.
 *
 * A cluster is removed only when no Secret and no file names it. A rejected kubeconfig keeps the last good one. If
 * several name a cluster, the access in use stays in use until it is deleted; at first it is that of the first Secret
 * or file by name, on every replica.
 */
export class RemoteClusters {
  readonly #options: RemoteClustersOptions;
  /** Offers by origin and cluster. */
  readonly #offers = new Map<string, Map<string, Offer>>();
  readonly #active = new Map<string, RemoteCluster>();

  constructor(options: RemoteClustersOptions) {
    this.#options = options;
  }

  /** Returns the accesses in use, by cluster. */
  active(): readonly RemoteCluster[] {
    return [...this.#active.values()].sort((a, b) => (a.cluster < b.cluster ? -1 : 1));
  }

  /** Returns the Secret or file whose access to a cluster is in use. */
  originOf(cluster: string): string | undefined {
    return this.#active.get(cluster)?.origin;
  }

  /** Returns the reason why the newest kubeconfig of a Secret or file for a cluster is rejected, if it is. */
  faultOf(origin: string, cluster: string): string | undefined {
    return this.#offers.get(origin)?.get(cluster)?.fault;
  }

  /** Takes the current content of some Secrets or files, and returns the changes. */
  update(contents: ReadonlyMap<string, OfferedClusters>): readonly RemoteClusterChange[] {
    const clusters = new Set<string>();
    for (const [origin, offered] of contents) {
      const before = this.#offers.get(origin) ?? new Map<string, Offer>();
      const after = new Map<string, Offer>();
      for (const [cluster, kubeconfig] of offered ?? [])
        after.set(cluster, this.#offer(origin, cluster, kubeconfig, before.get(cluster)?.remote));
      for (const cluster of [...before.keys(), ...after.keys()]) clusters.add(cluster);
      if (offered === undefined) this.#offers.delete(origin);
      else this.#offers.set(origin, after);
    }
    return [...clusters].sort().flatMap((cluster) => this.#decide(cluster) ?? []);
  }

  /** Returns the faults of the current Secrets and files. */
  problems(): readonly RemoteClusterProblem[] {
    const problems: RemoteClusterProblem[] = [];
    for (const [origin, offers] of this.#offers) {
      for (const [cluster, { fault, remote }] of offers) {
        const ignored = this.#ignoredBecause(origin, cluster);
        const message = fault ?? ignored;
        if (message === undefined) continue;
        const severity = ignored === undefined ? "error" : "warning";
        const kept = fault !== undefined && remote !== undefined ? "; the last good kubeconfig stays active" : "";
        problems.push({ severity, origin, cluster, message: `${message}${kept}` });
      }
    }
    return problems.sort((a, b) => (a.origin + a.cluster < b.origin + b.cluster ? -1 : 1));
  }

  #offer(origin: string, cluster: string, kubeconfig: Uint8Array | string, lastGood: RemoteCluster | undefined): Offer {
    if (this.#readBy(cluster) !== undefined) return { remote: undefined };
    const text = typeof kubeconfig === "string" ? kubeconfig : new TextDecoder().decode(kubeconfig);
    try {
      const sanitized = sanitizeKubeconfig(text, this.#options.allowedCredentials);
      if (cluster === "" || cluster.includes("/"))
        return {
          remote: undefined,
          fault: `${JSON.stringify(cluster)} is no ID of a cluster, expected a name without /`,
        };
      return { remote: lastGood?.kubeconfig === sanitized ? lastGood : { cluster, origin, kubeconfig: sanitized } };
    } catch (error) {
      if (!(error instanceof IngestionError)) throw error;
      return { remote: lastGood, fault: error.message };
    }
  }

  #decide(cluster: string): RemoteClusterChange | undefined {
    const before = this.#active.get(cluster);
    const offered = [...this.#offers].flatMap(([origin, offers]) => {
      const remote = offers.get(cluster)?.remote;
      return remote === undefined ? [] : [{ origin, remote }];
    });
    const kept = offered.find(({ origin }) => origin === before?.origin);
    const [first] = offered.sort((a, b) => (a.origin < b.origin ? -1 : 1));
    const remote = (kept ?? first)?.remote;
    if (remote === before) return undefined;
    if (remote === undefined) {
      this.#active.delete(cluster);
      return { type: "remove", cluster };
    }
    this.#active.set(cluster, remote);
    if (before === undefined) return { type: "add", remote };
    return before.kubeconfig === remote.kubeconfig ? undefined : { type: "replace", remote };
  }

  /** Returns the flag by which a cluster is read in any case. */
  #readBy(cluster: string): string | undefined {
    return cluster === this.#options.configCluster ? "--clusterID" : this.#options.otherClusters?.get(cluster);
  }

  #ignoredBecause(origin: string, cluster: string): string | undefined {
    const flag = this.#readBy(cluster);
    if (flag === "--clusterID") return `${cluster} is the cluster of this istiod's configuration, and is ignored`;
    if (flag !== undefined) return `cluster ${cluster} is ignored, because ${flag} gives access to it`;
    const active = this.#active.get(cluster);
    if (active === undefined || active.origin === origin) return undefined;
    return `cluster ${cluster} is ignored, because ${active.origin} gives access to it`;
  }
}
