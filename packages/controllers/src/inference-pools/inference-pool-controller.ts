import { type InferencePoolService, type ObservedPoolService, poolServiceState } from "@istiod/gateway-api";
import { collection, query } from "@istiod/incremental";
import type { KubernetesObject, ResourceType } from "@istiod/kubernetes";
import type { Controller, Observed, Watch } from "../controller/controller.js";
import type { Write } from "../controller/write.js";
import { discovery, type Scope } from "../inputs/discovery.js";
import { observedPools, ownPools } from "./own-pools.js";

export interface InferencePoolOptions extends Scope {
  /** Revision of this istiod. */
  readonly revision: string;
  /** Namespace of istiod. */
  readonly systemNamespace: string;
  /** The Services, as the mesh determines them: those of now, then all of them after each change. */
  readonly services: { follow(changed: (services: readonly InferencePoolService[]) => void): () => void };
}

const group = "inference.networking.k8s.io";
const serviceType: ResourceType = { group: "", version: "v1", kind: "Service", plural: "services", namespaced: true };

interface ServiceManifest extends KubernetesObject {
  readonly spec?: {
    readonly selector?: Readonly<Record<string, string>>;
    readonly ports?: ObservedPoolService["ports"];
  };
}

/**
 * Returns the controller of the headless Services by which the Pods of InferencePools are found. A Service that is not
 * of an InferencePool is left alone. The Services are deleted with their pools, which own them. Source:
 * `reconcileShadowService` in pilot/pkg/config/kube/gateway/inferencepool_collection.go.
 */
export function inferencePoolController(options: InferencePoolOptions): Controller {
  const { revision, systemNamespace, namespace } = options;
  const desired = collection<InferencePoolService>("DesiredInferencePoolService");
  const services = collection<Observed<ObservedPoolService>>("Service");
  const discovered = discovery(options);
  const scope = namespace === undefined ? {} : { namespace };
  const own = ownPools({ revision, systemNamespace, discovered, ...scope });
  const targets = query("inferencePoolServicesToWrite", (q): readonly string[] => [...q.keys(desired)]);
  const write = query("inferencePoolServiceWrite", (q, key: string): Write | undefined => {
    const service = q.read(desired, key);
    const pool = service && q.read(observedPools, `${service.namespace}/${service.pool}`);
    const observed = q.read(services, key);
    if (service === undefined || pool === undefined) return undefined;
    if (!q.call(own.isMine, { namespace: service.namespace, revision: pool.value.revision })) return undefined;
    const state = poolServiceState(observed?.value, service);
    if (state === "foreign" || state === "current") return undefined;
    return { action: "apply", type: serviceType, object: manifest(service, pool.uid), base: observed?.resourceVersion };
  });
  const watch: Watch<ObservedPoolService> = {
    type: serviceType,
    collection: services,
    fields: { metadata: { labels: true }, spec: { selector: true, ports: true } },
    select: observeService,
    ...scope,
  };
  return {
    name: "inference pool controller",
    fieldManager: "istio.io/inference-pool-controller",
    watches: [...own.watches, watch as Watch],
    inputs: (database) => {
      const ends = [
        discovered.inputs(database),
        options.services.follow((wanted) => {
          const byKey = new Map(wanted.map((each) => [`${each.namespace}/${each.name}`, each]));
          database.commit((tx) => {
            for (const key of database.keys(desired)) if (!byKey.has(key)) tx.delete(desired, key);
            for (const [key, service] of byKey) tx.set(desired, key, service);
          });
        }),
      ];
      return () => ends.forEach((end) => end());
    },
    targets,
    write,
  };
}

function observeService({ metadata, spec = {} }: ServiceManifest): ObservedPoolService {
  const { selector = {}, ports = [] } = spec;
  return {
    labels: metadata?.labels ?? {},
    selector,
    ports: ports.map(({ name, port, targetPort, appProtocol }) => ({ name, port, targetPort, appProtocol })),
  };
}

function manifest({ namespace, name, pool, labels, selector, ports }: InferencePoolService, uid: string) {
  const owner = { apiVersion: `${group}/v1`, kind: "InferencePool", name: pool, uid };
  return {
    metadata: { namespace, name, labels, ownerReferences: [owner] },
    spec: {
      type: "ClusterIP",
      clusterIP: "None",
      selector,
      ports: ports.map((port) => ({ ...port, protocol: "TCP" })),
    },
  };
}
