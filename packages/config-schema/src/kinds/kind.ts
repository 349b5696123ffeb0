import type { DescMessage } from "@bufbuild/protobuf";
import type { Collection } from "@istiod/incremental";
import type { ConfigObject } from "../config-object.js";
import type { Report } from "../decoding/report.js";
import type { SelectedFields } from "./selected-fields.js";

/** Selects the keys of labels or annotations that are kept. */
export type KeySelector = "all" | ((key: string) => boolean);

export type NameRule = "label" | "subdomain" | "mixedCaseSubdomain";

/** A parsed document with a valid envelope. */
export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  /** The whole document as JSON values. */
  readonly body: Readonly<Record<string, unknown>>;
}

interface Content<S, T> {
  readonly spec: S;
  readonly status?: T;
}

/**
 * Rule by which objects of a restricting kind fail closed: what applies instead of an object that is rejected and has
 * no last good version.
 */
export interface FailClosed {
  /** Substitutes of rejected objects, by the keys of the objects. */
  readonly collection: Collection<ConfigObject<unknown, unknown>>;
  /** The effect on the selected workloads, as a clause: `every request is denied`. */
  readonly effect: string;
  /**
   * Returns specs that restrict as much as the kind can, from the selection that the rejected object states to its
   * whole namespace. The first one that is valid applies. None if the object certainly does not restrict.
   *
   * @param body the rejected object; undefined if it cannot be parsed
   */
  substitutes(body: Readonly<Record<string, unknown>> | undefined): readonly Readonly<Record<string, unknown>>[];
}

/** Declaration of a kind: how its objects are recognized, decoded, validated and stored. */
export interface KindDeclaration<S, T> {
  readonly kind: string;
  /** API group; empty for Kubernetes' core group. */
  readonly group: string;
  readonly versions: readonly string[];
  readonly scope: "namespaced" | "cluster";
  /**
   * Rule of an object's name: a DNS label, a DNS subdomain, or a DNS subdomain that may have upper case and inner
   * underscores, with a warning, since files of Istio's custom resources have them. Default: a DNS subdomain.
   */
  readonly nameRule?: NameRule;
  readonly collection: Collection<ConfigObject<S, T>>;
  /** Type of the spec, for kinds whose spec is a message. */
  readonly schema?: DescMessage;
  readonly labels: KeySelector;
  readonly annotations: KeySelector;
  /** Fields that `decode` and `skip` read, in addition to labels, annotations and `conditions`: see `fieldsOf`. */
  readonly fields: SelectedFields;
  /** Condition types that are kept where they are negative. Default: none. */
  readonly conditions?: readonly string[];
  /** Set for kinds whose generated configuration names the version of the object: each version is another object. */
  readonly hasVersions?: true;
  /** Set for kinds whose status istiod writes, for the generation that it was computed from. */
  readonly hasGeneration?: true;
  key(object: { readonly cluster: string; readonly namespace: string; readonly name: string }): string;
  /** Decodes the content of a document. Returns undefined if it reported that it cannot be decoded. */
  decode(manifest: Manifest, report: Report): Content<S, T> | undefined;
  /** Returns the document of an object: what `decode` reads as an equal object. Set for kinds that restrict. */
  encode?(object: ConfigObject<S, T>): Readonly<Record<string, unknown>>;
  /** Validates a decoded object. Errors reject it, warnings do not. */
  validate?(object: ConfigObject<S, T>, report: Report): void;
  /** Field selector of the objects that are read from an API server. Default: all. */
  readonly fieldSelector?: string;
  /** Reports whether a document of this kind is never read, such as Helm's release Secrets. */
  skip?(manifest: Manifest): boolean;
  /** Set for kinds that restrict. */
  readonly failClosed?: FailClosed;
}

/** A kind with any content. Only the kind's own module knows the type of the content. */
export type Kind = KindDeclaration<unknown, unknown>;

/** Declares a kind. */
export function declareKind<S, T>(declaration: KindDeclaration<S, T>): Kind {
  return declaration as unknown as Kind;
}
