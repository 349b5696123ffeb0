import {
  type ApiClient,
  ApiError,
  createApiClient,
  type KubernetesObject,
  parseKubeconfig,
  resourcePath,
  type ResourceType,
} from "@istiod/kubernetes";
import { type ObjectInput, startApiServer } from "@istiod/kubernetes/testing";
import { onTestFinished, type TestContext, vi } from "vitest";
import { istioTypes, typesOf } from "@istiod/commands/testing";
import { istioKinds, type Kind } from "@istiod/config-schema";

/** An API server with Istio's types and two namespaces, which is used as an administrator does. */
export interface TestCluster {
  readonly kubeconfig: string;
  readonly client: ApiClient;
  create(object: ObjectInput): Promise<void>;
  /** Merges the fields of an object into the stored one. */
  merge(object: ObjectInput): Promise<void>;
  /** Returns an object; undefined if there is none. */
  read<T = KubernetesObject>(kind: string, name: string, namespace?: string): Promise<T | undefined>;
  /** Returns the objects of a kind. */
  list<T = KubernetesObject>(kind: string, namespace?: string): Promise<readonly T[]>;
}

/** The parts of `@istiod/cluster` that tests use. The package is not a dependency of this one. */
interface ClusterModule {
  startCluster(): Promise<{ readonly kubeconfig: string; stop(): Promise<void> }>;
  clusterUnavailable(): Promise<string | undefined>;
  customResourceDefinitions(kinds: readonly object[]): readonly object[];
}

/** The servers on which contracts hold. */
export const clusterKinds = ["in memory", "real"] as const;
export type ClusterKind = (typeof clusterKinds)[number];

const namespaces = ["shop", "istio-system"] as const;

const coreTypes: readonly ResourceType[] = [
  { group: "", version: "v1", kind: "Namespace", plural: "namespaces", namespaced: false },
  { group: "", version: "v1", kind: "Pod", plural: "pods", namespaced: true },
  { group: "", version: "v1", kind: "Secret", plural: "secrets", namespaced: true },
  { group: "", version: "v1", kind: "Service", plural: "services", namespaced: true },
  { group: "", version: "v1", kind: "ServiceAccount", plural: "serviceaccounts", namespaced: true },
  { group: "", version: "v1", kind: "ConfigMap", plural: "configmaps", namespaced: true },
  { group: "discovery.k8s.io", version: "v1", kind: "EndpointSlice", plural: "endpointslices", namespaced: true },
  ...["Mutating", "Validating"].map((effect) => ({
    group: "admissionregistration.k8s.io",
    version: "v1",
    kind: `${effect}WebhookConfiguration`,
    plural: `${effect.toLowerCase()}webhookconfigurations`,
    namespaced: false,
  })),
];

/** Returns a type by the name of its kind. */
export function typeOf(kind: string, custom = istioTypes): ResourceType {
  const type = [...coreTypes, ...custom].find((candidate) => candidate.kind === kind);
  if (type === undefined) throw new Error(`no type ${kind}`);
  return type;
}

/**
 * Starts a server that is stopped with the test. Skips the test, with the reason, if the real one is missing.
 *
 * @param definitions of the types, for the real server. Default: ones without a schema, so that only webhooks reject
 *   objects
 * @param kinds the kinds that are defined. Default: Istio's
 */
export async function startTestCluster(
  kind: ClusterKind,
  { skip }: Pick<TestContext, "skip">,
  definitions?: readonly object[],
  kinds: readonly Kind[] = istioKinds,
): Promise<TestCluster> {
  const types = typesOf(kinds);
  const kubeconfig = kind === "real" ? await startReal(skip) : await startInMemory(types);
  const client = createApiClient(await parseKubeconfig(kubeconfig), { userAgent: "kubectl", qps: 1000, burst: 1000 });
  onTestFinished(() => client.close());
  const cluster = testCluster(kubeconfig, client, types);
  if (kind === "real") await fill(cluster, types, definitions ?? (await openDefinitions(types)));
  return cluster;
}

async function startInMemory(types: readonly ResourceType[]): Promise<string> {
  const server = await startApiServer({ types, namespaces: [...namespaces], authorization: "allow-all" });
  onTestFinished(() => server.stop());
  return server.kubeconfig.yaml;
}

const clusterModule = async (): Promise<ClusterModule> => {
  const name = "@istiod/cluster";
  return (await import(name)) as ClusterModule;
};

async function startReal(skip: TestContext["skip"]): Promise<string> {
  const { clusterUnavailable, startCluster } = await clusterModule();
  const reason = await clusterUnavailable();
  skip(reason !== undefined, reason);
  const cluster = await startCluster();
  onTestFinished(() => cluster.stop());
  return cluster.kubeconfig;
}

/** Returns definitions of types that accept every object. */
async function openDefinitions(all: readonly ResourceType[]): Promise<readonly object[]> {
  const { customResourceDefinitions } = await clusterModule();
  const kinds = [...new Set(all.map(({ kind }) => kind))].map((kind) => {
    const versions = all.filter((type) => type.kind === kind);
    return { ...versions[0], versions: versions.map(({ version }) => version) };
  });
  return customResourceDefinitions(kinds);
}

/** Creates the namespaces and the definitions, and waits until the types are served. */
async function fill(
  { client, create }: TestCluster,
  types: readonly ResourceType[],
  definitions: readonly object[],
): Promise<void> {
  for (const name of namespaces) await create({ apiVersion: "v1", kind: "Namespace", metadata: { name } });
  const path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
  for (const definition of definitions) await client.json({ method: "POST", path, body: JSON.stringify(definition) });
  for (const type of types)
    await vi.waitFor(() => client.json({ path: resourcePath(type) }), { timeout: 60_000, interval: 50 });
}

function testCluster(kubeconfig: string, client: ApiClient, types: readonly ResourceType[]): TestCluster {
  const pathOf = (kind: string, name: string | undefined, namespace: string | undefined): string =>
    resourcePath(typeOf(kind, types), {
      ...(name !== undefined && { name }),
      ...(namespace !== undefined && { namespace }),
    });
  return {
    kubeconfig,
    client,
    async create({ kind = "", metadata, ...object }) {
      const path = pathOf(kind, undefined, metadata.namespace);
      await client.json({ method: "POST", path, body: JSON.stringify({ kind, metadata, ...object }) });
    },
    async merge({ kind = "", metadata, ...object }) {
      const path = pathOf(kind, metadata.name, metadata.namespace);
      const contentType = "application/merge-patch+json";
      await client.json({ method: "PATCH", path, contentType, body: JSON.stringify({ metadata, ...object }) });
    },
    async read<T>(kind: string, name: string, namespace?: string) {
      try {
        return await client.json<T>({ path: pathOf(kind, name, namespace) });
      } catch (error) {
        if (error instanceof ApiError && error.code === "not-found") return undefined;
        throw error;
      }
    },
    async list<T>(kind: string, namespace?: string) {
      return (await client.json<{ readonly items: readonly T[] }>({ path: pathOf(kind, undefined, namespace) })).items;
    },
  };
}
