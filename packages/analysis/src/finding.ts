import type { FieldPath } from "@istiod/config-schema";
import { type Code, type Level, messageTypes } from "./codes.js";

/** The object that a finding is about. */
export interface Origin {
  /** API group; empty for Kubernetes' core group. */
  readonly group: string;
  readonly kind: string;
  /** Empty for cluster-scoped kinds. */
  readonly namespace: string;
  readonly name: string;
  /** Key of the object in its kind's collection. */
  readonly key: string;
}

/** A result of analysis about one object. */
export interface Finding {
  readonly code: Code;
  /** Set if the consequence is milder than that of the code. */
  readonly level?: Level;
  /** Name of the analyzer, such as `virtualservice.DestinationHostAnalyzer`. */
  readonly analyzer: string;
  readonly origin: Origin;
  /** The field that it is about, from the root of the object; empty: the object as a whole. */
  readonly path: FieldPath;
  /** The problem and how to fix it, in one or two sentences. */
  readonly message: string;
}

/** Returns the severity of a finding: its own, else that of its code. */
export function levelOf({ code, level }: Pick<Finding, "code" | "level">): Level {
  return level ?? messageTypes[code].level;
}

/** Formats an origin as `Kind namespace/name`, or `Kind name` for cluster-scoped kinds. */
export function formatOrigin({ kind, namespace, name }: Pick<Origin, "kind" | "namespace" | "name">): string {
  return `${kind} ${namespace === "" ? "" : `${namespace}/`}${name}`;
}
