import type { Collection } from "@istiod/incremental";
import type { ConfigObject } from "../config-object.js";
import type { Report } from "../decoding/report.js";

/** A key-value map of metadata: which of its keys something reads. */
export type KeysRead = "all" | ((key: string) => boolean);

/** A document as it was parsed, its envelope already checked. */
export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  /** The whole document, as JSON values. */
  readonly body: Readonly<Record<string, unknown>>;
}

interface Content<S, T> {
  readonly spec: S;
  readonly status?: T;
}

/** What a kind's module declares: how to recognise, decode, check and store its objects. */
export interface KindDeclaration<S, T> {
  readonly kind: string;
  /** API group; empty for Kubernetes' core group. */
  readonly group: string;
  readonly versions: readonly string[];
  readonly scope: "namespaced" | "cluster";
  readonly collection: Collection<ConfigObject<S, T>>;
  readonly labels: KeysRead;
  readonly annotations: KeysRead;
  /** Types of conditions in the status that something reads where they are negative. Default: none. */
  readonly conditions?: readonly string[];
  key(object: { readonly cluster: string; readonly namespace: string; readonly name: string }): string;
  /** The content of a document, or undefined if it was reported as undecodable. */
  decode(manifest: Manifest, report: Report): Content<S, T> | undefined;
  /** Reports what is wrong with a decoded object: errors set it aside, warnings do not. */
  validate?(object: ConfigObject<S, T>, report: Report): void;
  /** True for documents of this kind that nothing reads, such as Helm's release Secrets. */
  skip?(manifest: Manifest): boolean;
}

/** A kind of any content. The type of the content is known inside its module only. */
export type Kind = KindDeclaration<unknown, unknown>;

/** Declares a kind. */
export function declareKind<S, T>(declaration: KindDeclaration<S, T>): Kind {
  return declaration as unknown as Kind;
}
