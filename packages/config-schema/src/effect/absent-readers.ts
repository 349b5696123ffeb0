import { collection, type QueryContext, type Transaction } from "@istiod/incremental";

/** A part of the control plane, other than generation for proxies, that reads objects. */
export type ObjectReader = "injection" | "registration" | "remoteClusters";

/** The readers that do not run, with the reason. Empty: all run, as in the cluster that objects are written for. */
export type AbsentReaders = Readonly<Partial<Record<ObjectReader, string>>>;

/** The parts of a control plane that decide which readers run. */
export interface RunningParts {
  /** True if istiod is connected to a cluster: a directory has no Pods to inject, and nothing to register in. */
  readonly cluster: boolean;
  /** `INJECT_ENABLED`. */
  readonly injects: boolean;
  /** `PILOT_ENABLE_WORKLOAD_ENTRY_AUTOREGISTRATION`. */
  readonly registers: boolean;
  /** True if the kubeconfigs of remote clusters are in a directory (`PILOT_MULTICLUSTER_KUBECONFIG_PATH`). */
  readonly hasKubeconfigDirectory: boolean;
}

/** Returns the readers that a control plane with these parts lacks. */
export function absentReadersOf(running: RunningParts): AbsentReaders {
  const { cluster, injects, registers, hasKubeconfigDirectory } = running;
  const injection = !cluster
    ? "sidecars are injected only by an istiod that is connected to a cluster"
    : injects
      ? undefined
      : "INJECT_ENABLED=false disables injection";
  const registration = !cluster
    ? "workloads are registered only by an istiod that is connected to a cluster"
    : registers
      ? undefined
      : "PILOT_ENABLE_WORKLOAD_ENTRY_AUTOREGISTRATION=false disables registration";
  const remoteClusters = hasKubeconfigDirectory
    ? "kubeconfigs of remote clusters are read from the directory of PILOT_MULTICLUSTER_KUBECONFIG_PATH, not from Secrets"
    : cluster
      ? undefined
      : "Secrets of remote clusters are read only by an istiod that is connected to a cluster";
  return {
    ...(injection !== undefined && { injection }),
    ...(registration !== undefined && { registration }),
    ...(remoteClusters !== undefined && { remoteClusters }),
  };
}

/** The readers that this control plane lacks, an input: its one entry. Without it, all run. */
const absentReaders = collection<AbsentReaders>("AbsentReaders");

const absentReadersKey = "absent";

/** Declares the readers that this control plane lacks. */
export function writeAbsentReaders(tx: Pick<Transaction, "set">, absent: AbsentReaders): void {
  tx.set(absentReaders, absentReadersKey, absent);
}

/** Returns the readers that this control plane lacks. */
export function readAbsentReaders(q: Pick<QueryContext, "read">): AbsentReaders {
  return q.read(absentReaders, absentReadersKey) ?? {};
}
