import type { DescMessage, MessageShape } from "@bufbuild/protobuf";
import type { Collection } from "@istiod/incremental";
import { meshKey, type ConfigObject } from "../../config-object.js";
import { decodeMessage } from "../../decoding/decode-message.js";
import { checkAnnotations } from "../../validation/metadata.js";
import { Place } from "../../validation/place.js";
import { shapeCheck, type Shape } from "../../validation/shape.js";
import { isIstioKey } from "./istio-keys.js";
import { declareKind, type Kind, type KeysRead } from "../kind.js";

export interface IstioKindOptions<D extends DescMessage, T> {
  readonly kind: string;
  readonly group: string;
  readonly versions: readonly string[];
  readonly schema: D;
  readonly collection: Collection<ConfigObject<MessageShape<D>, T>>;
  /** Default: `ns/name`, for what exists once in a mesh. */
  readonly key?: Kind["key"];
  /** Default: the keys in Istio's domains. */
  readonly labels?: KeysRead;
  /** What the kind's schema demands beyond the types of the message. */
  readonly shape?: Shape;
  /** A document without a `spec` is refused. Default false: it is as an empty one. */
  readonly specRequired?: boolean;
  /** Types of conditions that something reads where they are negative. Default: none. */
  readonly conditions?: readonly string[];
  status?(status: unknown): T | undefined;
  /** Whether the object can be tried out without effect (`istio.io/dry-run`). Default: it can not. */
  dryRunAllowed?(spec: MessageShape<D>): boolean;
  /** `place` is the object's spec. */
  validate(object: ConfigObject<MessageShape<D>, T>, place: Place): void;
}

/** A kind of Istio's: its spec is a message of the API, in JSON form. */
export function istioKind<D extends DescMessage, T = undefined>(options: IstioKindOptions<D, T>): Kind {
  const { kind, group, versions, schema, collection, labels = isIstioKey, shape = {}, specRequired = false } = options;
  const checkShape = shapeCheck(shape);
  return declareKind<MessageShape<D>, T>({
    kind,
    group,
    versions,
    scope: "namespaced",
    collection,
    labels,
    annotations: isIstioKey,
    ...(options.conditions !== undefined && { conditions: options.conditions }),
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
