import { formatMessages } from "@istiod/analysis";
import { gatewayApiKinds, isIstioGroup, multiClusterKinds } from "@istiod/config-schema";
import { apiVersionOf, type KubernetesObject, type ResourceType } from "@istiod/kubernetes";
import { stringify } from "yaml";
import { analyzeCluster } from "../cluster/cluster-analysis.js";
import type { Cluster } from "../cluster/cluster.js";
import { listObjects, resources } from "../cluster/objects.js";
import type { ReportFiles } from "./report-files.js";

/** Types whose objects a report has as YAML, by file. Secrets are apart. */
const dumped: readonly (readonly [file: string, types: readonly ResourceType[]])[] = [
  ["nodes", [resources.nodes]],
  ["events", [resources.events]],
  [
    "k8s-resources",
    [
      resources.namespaces,
      resources.services,
      resources.endpointSlices,
      resources.pods,
      resources.deployments,
      resources.statefulSets,
      resources.daemonSets,
      resources.replicaSets,
      resources.jobs,
      resources.configMaps,
      resources.serviceAccounts,
      resources.mutatingWebhooks,
      resources.validatingWebhooks,
    ],
  ],
];

interface CustomResourceDefinition extends KubernetesObject {
  readonly spec: {
    readonly group: string;
    readonly scope: string;
    readonly names: { readonly kind: string; readonly plural: string };
    readonly versions: readonly { readonly name: string; readonly served: boolean }[];
  };
}

/** Groups whose objects are configuration of the mesh, in addition to those of Istio. */
const otherMeshGroups: ReadonlySet<string> = new Set(
  [...gatewayApiKinds, ...multiClusterKinds()].map(({ group }) => group),
);

export interface ClusterFilesOptions {
  /** Includes the values of Secrets. */
  readonly fullSecrets: boolean;
}

/** Plans the files of the cluster's objects. */
export function addClusterFiles({ client }: Cluster, files: ReportFiles, { fullSecrets }: ClusterFilesOptions): void {
  for (const [file, types] of dumped)
    for (const type of types) {
      const path = types.length === 1 ? `cluster/${file}` : `cluster/${file}/${type.plural}.yaml`;
      files.later(path, async () => documents(await listObjects(client, type), type));
    }
  files.later("cluster/secrets", async () => {
    const secrets = await listObjects<SecretObject>(client, resources.secrets);
    return documents(fullSecrets ? secrets : secrets.map(withoutValues), resources.secrets);
  });
  files.later("cluster/crs", async () => {
    for (const definition of await listObjects<CustomResourceDefinition>(client, resources.definitions)) {
      const type = isMeshGroup(definition.spec.group) ? typeOf(definition) : undefined;
      if (type === undefined) continue;
      const path = `cluster/crs/${type.plural}.${type.group}.yaml`;
      files.later(path, async () => documents(await listObjects(client, type), type));
    }
    return "";
  });
}

function isMeshGroup(group: string): boolean {
  return isIstioGroup(group) || otherMeshGroups.has(group);
}

interface SecretObject extends KubernetesObject {
  readonly data?: Readonly<Record<string, string>>;
}

/** Returns a Secret whose values are replaced by their length, and without the copy of them that kubectl keeps. */
function withoutValues({ data = {}, ...secret }: SecretObject): SecretObject {
  const { annotations = {}, ...metadata } = secret.metadata ?? {};
  const kept = Object.entries(annotations).filter(
    ([name]) => name !== "kubectl.kubernetes.io/last-applied-configuration",
  );
  const lengths = Object.entries(data).map(([key, value]) => [key, `${Buffer.from(value, "base64").length} bytes`]);
  return {
    ...secret,
    metadata: { ...metadata, annotations: Object.fromEntries(kept) },
    data: Object.fromEntries(lengths) as Record<string, string>,
  };
}

function typeOf({ spec }: CustomResourceDefinition): ResourceType | undefined {
  const version = spec.versions.find(({ served }) => served)?.name;
  const { kind, plural } = spec.names;
  return version === undefined
    ? undefined
    : { group: spec.group, version, kind, plural, namespaced: spec.scope === "Namespaced" };
}

/** Returns objects as YAML documents, with their kind, which a list does not repeat, and without managed fields. */
function documents(objects: readonly KubernetesObject[], type: ResourceType): string {
  return objects
    .map((object) => {
      const { managedFields: _, ...metadata } = (object.metadata ?? {}) as Record<string, unknown>;
      return `---\n${stringify({ apiVersion: apiVersionOf(type), kind: type.kind, ...object, metadata }, { lineWidth: 0 })}`;
    })
    .join("");
}

/** Plans the findings about the cluster. */
export function addAnalysis(cluster: Cluster, files: ReportFiles): void {
  files.later("analyze/findings", async () => {
    const { messages, unread } = await analyzeCluster(cluster, { files: [] });
    for (const reason of unread) files.fault("analyze/findings", reason);
    return formatMessages(messages, "log");
  });
}
