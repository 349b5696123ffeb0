import type { ApiClient, ResourceType } from "@istiod/kubernetes";
import type { DaemonSet, Deployment, Job, ReplicaSet, StatefulSet } from "./workloads.js";
import type { ConfigMap, EndpointSlice, Pod, Secret, Service, Stored } from "./objects.js";
import { Store } from "./store.js";
import { types } from "./types.js";

/** The API server's objects, followed, and the client to change them. */
export interface ClusterState {
  readonly client: ApiClient;
  /** Receives failures that are repeated. */
  readonly report: (error: unknown) => void;
  readonly pods: Store<Pod>;
  readonly services: Store<Service>;
  readonly configMaps: Store<ConfigMap>;
  readonly secrets: Store<Secret>;
  readonly namespaces: Store<Stored>;
  readonly nodes: Store<Stored>;
  readonly serviceAccounts: Store<Stored>;
  readonly endpointSlices: Store<EndpointSlice>;
  readonly deployments: Store<Deployment>;
  readonly replicaSets: Store<ReplicaSet>;
  readonly statefulSets: Store<StatefulSet>;
  readonly daemonSets: Store<DaemonSet>;
  readonly jobs: Store<Job>;
  readonly disruptionBudgets: Store<Stored>;
  readonly autoscalers: Store<Stored>;
  readonly trustBundles: Store<Stored>;
  readonly stores: readonly Store<Stored>[];
}

/** Follows all types, and waits until the first lists are complete. */
export async function followCluster(client: ApiClient, report: (error: unknown) => void): Promise<ClusterState> {
  const stores: Store<Stored>[] = [];
  const follow = <T extends Stored>(type: ResourceType): Store<T> => {
    const store = new Store<T>(client, type, report);
    stores.push(store as unknown as Store<Stored>);
    store.start();
    return store;
  };
  const state: ClusterState = {
    client,
    report,
    pods: follow(types.pods),
    services: follow(types.services),
    configMaps: follow(types.configMaps),
    secrets: follow(types.secrets),
    namespaces: follow(types.namespaces),
    nodes: follow(types.nodes),
    serviceAccounts: follow(types.serviceAccounts),
    endpointSlices: follow(types.endpointSlices),
    deployments: follow(types.deployments),
    replicaSets: follow(types.replicaSets),
    statefulSets: follow(types.statefulSets),
    daemonSets: follow(types.daemonSets),
    jobs: follow(types.jobs),
    disruptionBudgets: follow(types.disruptionBudgets),
    autoscalers: follow(types.autoscalers),
    trustBundles: follow(types.trustBundles),
    stores,
  };
  await Promise.all(stores.map(({ synced }) => synced));
  return state;
}
