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
  /** Labels of a namespace; undefined if it does not exist. */
  readonly labelsOf: Query<string, Readonly<Record<string, string>> | undefined>;
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
  const namespaces = query("activeNamespaces", (q): readonly string[] =>
    [...q.keys(observed)].filter((name) => q.call(isActive, name)),
  );
  const labelsOf = query("namespaceLabels", (q, name: string) => q.read(observed, name)?.value.labels);
  const watch: Watch<Namespace> = {
    type: { group: "", version: "v1", kind: "Namespace", plural: "namespaces", namespaced: false },
    collection: observed,
    fields: { metadata: { labels: true, deletionTimestamp: true }, status: { phase: true } },
    select: ({ metadata, ...object }) => ({
      labels: metadata?.labels ?? {},
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
    labelsOf,
  };
}
