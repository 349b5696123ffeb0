import { type Collection, collection, query } from "@istiod/incremental";
import type { KubernetesObject, ResourceType } from "@istiod/kubernetes";
import type { Controller, ControllerDatabase, Observed, Watch } from "../controller/controller.js";
import type { Write } from "../controller/write.js";
import { discovery, type Scope } from "../inputs/discovery.js";
import { analyzedTypes } from "./analyzed-types.js";
import {
  hasMessages,
  type ObservedStatus,
  observeStatus,
  type StatusMessage,
  statusMessages,
} from "./status-fields.js";

/** The result of the analysis of one object. */
export interface AnalyzedObject {
  /** `metadata.generation` of the version that was analyzed. */
  readonly generation: number;
  readonly messages: readonly StatusMessage[];
}

/** The results of the analysis of all objects. */
export interface AnalysisResults {
  /** Returns the results by `analysisKey`; undefined before the first analysis. Other objects are left alone. */
  current(): ReadonlyMap<string, AnalyzedObject> | undefined;
  /** Calls a listener after each change. Returns a function that ends this. */
  onChange(listener: () => void): () => void;
}

export interface AnalysisStatusOptions extends Scope {
  readonly results: AnalysisResults;
  /** Maximum number of writes in flight (`PILOT_STATUS_MAX_WORKERS`). Default: 100. */
  readonly concurrency?: number;
}

/** Returns the key of an object in results: `group/kind/namespace/name`. */
export function analysisKey(object: Readonly<Record<"group" | "kind" | "namespace" | "name", string>>): string {
  return [object.group, object.kind, object.namespace, object.name].join("/");
}

interface Analyzed {
  readonly type: ResourceType;
  readonly observed: Collection<Observed<ObservedStatus>>;
}

/**
 * Returns the controller of the analysis messages in the status of Istio's objects (`status.validationMessages`, with
 * `status.observedGeneration`). Other fields of the status are left alone. A result for another generation than the
 * observed one is not written, and an object without messages is written only to remove former ones.
 */
export function analysisStatusController(options: AnalysisStatusOptions): Controller {
  const results = collection<AnalyzedObject>("AnalyzedObject");
  const discovered = discovery(options);
  const analyzed = new Map(
    analyzedTypes.map((type): [string, Analyzed] => [
      `${type.group}/${type.kind}`,
      { type, observed: collection<Observed<ObservedStatus>>(type.kind) },
    ]),
  );
  const targets = query("analyzedObjects", (q): readonly string[] => [...q.keys(results)]);
  const write = query("analysisStatus", (q, key: string): Write | undefined => {
    const [group = "", kind = "", namespace = "", name = ""] = key.split("/");
    const of = analyzed.get(`${group}/${kind}`);
    const result = q.read(results, key);
    if (of === undefined || result === undefined || !q.call(discovered.isActive, namespace)) return undefined;
    const object = q.read(of.observed, `${namespace}/${name}`);
    if (object === undefined || object.value.generation !== result.generation) return undefined;
    const validationMessages = statusMessages(result.messages);
    const observedGeneration = String(result.generation);
    const isObserved = validationMessages.length === 0 || object.value.observedGeneration === observedGeneration;
    if (isObserved && hasMessages(object.value.messages, validationMessages)) return undefined;
    const { resourceVersion } = object;
    const applied: KubernetesObject & { readonly status: object } = {
      metadata: { namespace, name, resourceVersion },
      status: { observedGeneration, validationMessages },
    };
    return { action: "apply", type: of.type, subresource: "status", base: resourceVersion, object: applied };
  });
  return {
    name: "analysis status controller",
    fieldManager: "istiod-analysis",
    concurrency: options.concurrency ?? 100,
    watches: [discovered.watch, ...[...analyzed.values()].map((of) => watchOf(of, options.namespace))],
    inputs: (database) => {
      const ends = [discovered.inputs(database), followResults(results, options.results, database)];
      return () => ends.forEach((end) => end());
    },
    targets,
    write,
  };
}

function watchOf({ type, observed }: Analyzed, namespace: string | undefined): Watch {
  const watch: Watch<ObservedStatus> = {
    type,
    collection: observed,
    ...(namespace !== undefined && { namespace }),
    fields: { metadata: { generation: true }, status: { observedGeneration: true, validationMessages: true } },
    select: observeStatus,
  };
  return watch as Watch;
}

/** Commits the results, and keeps them current. Returns a function that ends this. */
function followResults(
  of: Collection<AnalyzedObject>,
  results: AnalysisResults,
  database: ControllerDatabase,
): () => void {
  const commit = (): void => {
    const current = results.current();
    if (current === undefined) return;
    database.commit((tx) => {
      for (const key of database.keys(of)) if (!current.has(key)) tx.delete(of, key);
      for (const [key, result] of current) tx.set(of, key, result);
    });
  };
  commit();
  return results.onChange(commit);
}
