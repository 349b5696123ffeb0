import { meshConfig, meshConfigKey, selectsNamespace } from "@istiod/config-schema";
import { collection, type Database, type Query, query } from "@istiod/incremental";
import type { Observed, Watch } from "../controller/controller.js";
import { followMeshSettings, type MeshSettings } from "./mesh-settings.js";

/** Namespaces whose objects a controller considers. */
export interface Scope {
  /** Its `discoverySelectors` select namespaces. */
  readonly mesh: MeshSettings;
  /** The only namespace (`ISTIO_WATCH_NAMESPACE`). Default: all. */
  readonly namespace?: string;
}

interface Namespace {
  readonly labels: Readonly<Record<string, string>>;
  readonly securityAnnotations: Readonly<Record<string, string>>;
  readonly isTerminating: boolean;
}

/** The discovered namespaces of a cluster, as inputs and queries of a controller. */
export interface Discovery {
  readonly watch: Watch;
  /** Commits the mesh configuration, and keeps it current. Returns a function that ends this. */
  readonly inputs: (database: Pick<Database<void>, "commit">) => () => void;
  /** Names of the namespaces that exist, are not being deleted, and are discovered. */
  readonly namespaces: Query<void, readonly string[]>;
  /** Reports whether a namespace exists, is not being deleted, and is discovered. */
  readonly isActive: Query<string, boolean>;
  /** As `isActive`, and true for an unknown namespace if there are no selectors that it could miss. */
  readonly isDiscovered: Query<string, boolean>;
  /** Labels of a namespace; undefined if it does not exist. */
  readonly labelsOf: Query<string, Readonly<Record<string, string>> | undefined>;
  /** Annotations of a namespace by which OpenShift assigns users and groups to its Pods. */
  readonly securityAnnotationsOf: Query<string, Readonly<Record<string, string>>>;
}

/** Returns the discovered namespaces of a scope. */
export function discovery({ mesh, namespace }: Scope): Discovery {
  const observed = collection<Observed<Namespace>>("Namespace");
  const isActive = query("isActive", (q, name: string): boolean => {
    const found = q.read(observed, name)?.value;
    if (found === undefined || found.isTerminating) return false;
    if (namespace !== undefined && namespace !== name) return false;
    const selected = q.read(meshConfig, meshConfigKey)?.discoverySelectors ?? [];
    return selectsNamespace(selected, found.labels);
  });
  const isDiscovered = query("isDiscovered", (q, name: string): boolean => {
    if (q.read(observed, name) !== undefined) return q.call(isActive, name);
    const isSelective = (q.read(meshConfig, meshConfigKey)?.discoverySelectors ?? []).length > 0;
    return !isSelective && (namespace === undefined || namespace === name);
  });
  const namespaces = query("activeNamespaces", (q): readonly string[] =>
    [...q.keys(observed)].filter((name) => q.call(isActive, name)),
  );
  const labelsOf = query("namespaceLabels", (q, name: string) => q.read(observed, name)?.value.labels);
  const securityAnnotationsOf = query(
    "namespaceSecurityAnnotations",
    (q, name: string): Readonly<Record<string, string>> => q.read(observed, name)?.value.securityAnnotations ?? {},
  );
  const watch: Watch<Namespace> = {
    type: { group: "", version: "v1", kind: "Namespace", plural: "namespaces", namespaced: false },
    collection: observed,
    fields: { metadata: { labels: true, annotations: true, deletionTimestamp: true }, status: { phase: true } },
    select: ({ metadata, ...object }) => ({
      labels: metadata?.labels ?? {},
      securityAnnotations: securityAnnotations(metadata?.annotations),
      isTerminating:
        metadata?.["deletionTimestamp"] !== undefined ||
        (object as { readonly status?: { readonly phase?: string } }).status?.phase === "Terminating",
    }),
  };
  return {
    watch: watch as Watch,
    inputs: (database) => followMeshSettings(mesh, database),
    namespaces,
    isActive,
    isDiscovered,
    labelsOf,
    securityAnnotationsOf,
  };
}

/** Returns the annotations that are OpenShift's. Changes of others change nothing. */
function securityAnnotations(annotations: Readonly<Record<string, string>> = {}): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(annotations).filter(([key]) => key.startsWith("openshift.io/sa.scc.")));
}
