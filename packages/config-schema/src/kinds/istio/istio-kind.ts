import { type DescMessage, type MessageShape, toJson } from "@bufbuild/protobuf";
import type { Collection } from "@istiod/incremental";
import { meshKey, type ConfigObject } from "../../config-object.js";
import { decodeMessage } from "../../decoding/decode-message.js";
import { checkAnnotations } from "../../validation/metadata.js";
import { Place } from "../../validation/place.js";
import { shapeCheck, type Shape } from "../../validation/shape.js";
import { isIstioKey } from "./istio-keys.js";
import type { SelectedFields } from "../selected-fields.js";
import { declareKind, type FailClosed, type Kind, type KeySelector } from "../kind.js";

export interface IstioKindOptions<D extends DescMessage, T> {
  readonly kind: string;
  readonly group: string;
  readonly versions: readonly string[];
  readonly schema: D;
  readonly collection: Collection<ConfigObject<MessageShape<D>, T>>;
  /** Default: `meshKey`. */
  readonly key?: Kind["key"];
  /** Default: keys of Istio's domains. */
  readonly labels?: KeySelector;
  /** Constraints of the kind's schema beyond the message's types. */
  readonly shape?: Shape;
  /** Rejects a document without a `spec`. Default false: it is treated as an empty one. */
  readonly specRequired?: boolean;
  /** Condition types that are kept where they are negative. Default: none. */
  readonly conditions?: readonly string[];
  /** Set for kinds whose generated configuration names the version of the object. */
  readonly hasVersions?: true;
  /** Set for kinds that restrict. */
  readonly failClosed?: FailClosed;
  status?(status: unknown): T | undefined;
  /** Fields of the status that `status` reads. Default: none. */
  readonly statusFields?: SelectedFields;
  /** Reports whether the object supports dry run (`istio.io/dry-run`). Default: it does not. */
  dryRunAllowed?(spec: MessageShape<D>): boolean;
  /**
   * Validates an object.
   *
   * @param place the object's spec
   */
  validate(object: ConfigObject<MessageShape<D>, T>, place: Place): void;
}

/** Declares a kind of Istio, whose spec is a message of its API in JSON form. */
export function istioKind<D extends DescMessage, T = undefined>(options: IstioKindOptions<D, T>): Kind {
  const { kind, group, versions, schema, collection, labels = isIstioKey, shape = {}, specRequired = false } = options;
  const checkShape = shapeCheck(shape);
  return declareKind<MessageShape<D>, T>({
    kind,
    group,
    versions,
    scope: "namespaced",
    nameRule: "mixedCaseSubdomain",
    collection,
    schema,
    labels,
    annotations: isIstioKey,
    fields: { spec: true, ...(options.statusFields !== undefined && { status: options.statusFields }) },
    ...(options.conditions !== undefined && { conditions: options.conditions }),
    ...(options.hasVersions && { hasVersions: true }),
    ...(options.failClosed !== undefined && { failClosed: options.failClosed }),
    key: options.key ?? meshKey,
    decode(manifest, report) {
      const json = manifest.body["spec"] ?? undefined;
      if (json === undefined && specRequired) report.error(["spec"], "is missing, expected a mapping");
      else checkShape(json, Place.spec(report));
      const spec = decodeMessage(schema, json ?? {}, ["spec"], report);
      if (spec === undefined) return undefined;
      const status = options.status?.(manifest.body["status"]);
      return status === undefined ? { spec } : { spec, status };
    },
    ...(options.failClosed !== undefined && {
      encode: ({ spec, ...object }: ConfigObject<MessageShape<D>, T>) => ({
        apiVersion: `${group}/${versions[0]}`,
        kind,
        metadata: {
          name: object.name,
          namespace: object.namespace,
          labels: object.labels,
          annotations: object.annotations,
          ...(object.creationTimestamp !== 0 && {
            creationTimestamp: new Date(object.creationTimestamp).toISOString(),
          }),
        },
        spec: toJson(schema, spec),
      }),
    }),
    validate(object, report) {
      checkAnnotations(
        object.annotations,
        options.dryRunAllowed?.(object.spec),
        Place.of(report, ["metadata", "annotations"]),
      );
      options.validate(object, Place.spec(report));
    },
  });
}
