import { type ConfigObject, type FieldPath, type Kind, meshConfig, meshNetworks } from "@istiod/config-schema";
import type { Collection, QueryContext } from "@istiod/incremental";
import type { MeshConfig } from "@istiod/istio-api/mesh/v1alpha1/config";
import type { MeshNetworks } from "@istiod/istio-api/mesh/v1alpha1/network";
import type { Code, Level } from "./codes.js";

/** The context in which an analyzer reads and reports on one object. */
export interface AnalysisContext {
  /** Query context for all reads, so that findings are recomputed when their inputs change. */
  readonly q: QueryContext;
  /** Key of the object in its collection. */
  readonly key: string;
  /**
   * Reports a finding about the object.
   *
   * @param path the field, from the root of the object, such as `["spec", "hosts", 0]`; empty: the object as a whole
   * @param message the problem with the relevant values, and how to fix it
   * @param level the severity, if the consequence is milder than that of the code, or graver: `Error` if requests that
   *   the object is for always fail, so that its status is not live
   */
  report(code: Code, path: FieldPath, message: string, level?: Level): void;
}

/**
 * The parts of a kind that analysis requires. Mesh configuration is analyzed as a kind, too.
 */
export type AnalyzedKind = Pick<Kind, "kind" | "group"> & { readonly collection: Collection<unknown> };

/** Analyzes the objects of one kind, one at a time. */
export interface Rule {
  readonly kind: AnalyzedKind;
  /** Returns the object's name, for findings. */
  readonly nameOf: (object: unknown) => { readonly namespace: string; readonly name: string };
  readonly analyze: (object: unknown, context: AnalysisContext) => void;
}

/** A check of objects of one or more kinds. */
export interface Analyzer {
  /** Name such as `gateway.SecretAnalyzer`; the same as in Istio if Istio has the analyzer. */
  readonly name: string;
  /** One sentence for `istiod analyze --list-analyzers`. */
  readonly description: string;
  readonly codes: readonly Code[];
  /** Mostly empty for schema analyzers, whose messages are the problems of documents. */
  readonly rules: readonly Rule[];
  /** True if the analyzer runs only if it is selected by name. Default: false. */
  readonly onRequest?: boolean;
}

/**
 * Declares a rule for the objects of a kind.
 *
 * @param of the kind's collection, with the type of its objects
 */
export function rule<O extends ConfigObject<unknown, unknown>>(
  kind: Kind,
  of: Collection<O>,
  analyze: (object: O, context: AnalysisContext) => void,
): Rule {
  if (kind.collection.id !== of.id)
    throw new Error(`${kind.kind}: its collection is ${kind.collection.name}, not ${of.name}`);
  return {
    kind: { kind: kind.kind, group: kind.group, collection: of },
    nameOf: (object) => object as O,
    analyze: (object, context) => analyze(object as O, context),
  };
}

/** Declares a rule for the mesh configuration. */
export function meshConfigRule(analyze: (config: MeshConfig, context: AnalysisContext) => void): Rule {
  return {
    kind: { kind: "MeshConfig", group: "", collection: meshConfig },
    nameOf: () => ({ namespace: systemNamespace, name: "meshconfig" }),
    analyze: (config, context) => analyze(config as MeshConfig, context),
  };
}

/** Declares a rule for the mesh networks. */
export function meshNetworksRule(analyze: (networks: MeshNetworks, context: AnalysisContext) => void): Rule {
  return {
    kind: { kind: "MeshNetworks", group: "", collection: meshNetworks },
    nameOf: () => ({ namespace: systemNamespace, name: "meshnetworks" }),
    analyze: (networks, context) => analyze(networks as MeshNetworks, context),
  };
}

/** The namespace under which findings name the mesh configuration. */
const systemNamespace = "istio-system";
