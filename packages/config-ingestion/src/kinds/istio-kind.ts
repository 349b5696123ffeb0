import type { DescMessage, MessageShape } from "@bufbuild/protobuf";
import type { Collection } from "@istiod/incremental";
import { meshKey, type ConfigObject } from "../config-object.js";
import { decodeMessage } from "../documents/decode-message.js";
import type { Report } from "../documents/report.js";
import { isIstioKey } from "./istio-keys.js";
import { declareKind, type Kind, type KeysRead } from "./kind.js";

export interface IstioKindOptions<D extends DescMessage, T> {
  readonly kind: string;
  readonly group: string;
  readonly versions: readonly string[];
  readonly schema: D;
  readonly collection: Collection<ConfigObject<MessageShape<D>, T>>;
  /** Default: the keys in Istio's domains. */
  readonly labels?: KeysRead;
  status?(status: unknown): T | undefined;
  validate?(object: ConfigObject<MessageShape<D>, T>, report: Report): void;
}

/** A kind of Istio's: its spec is a message of the API, in JSON form, and it exists once in a mesh. */
export function istioKind<D extends DescMessage, T = undefined>(options: IstioKindOptions<D, T>): Kind {
  const { kind, group, versions, schema, collection, labels = isIstioKey, status: decodeStatus, validate } = options;
  return declareKind<MessageShape<D>, T>({
    kind,
    group,
    versions,
    scope: "namespaced",
    collection,
    labels,
    annotations: isIstioKey,
    key: meshKey,
    decode(manifest, report) {
      const spec = decodeMessage(schema, manifest.body["spec"] ?? {}, ["spec"], report);
      if (spec === undefined) return undefined;
      const status = decodeStatus?.(manifest.body["status"]);
      return status === undefined ? { spec } : { spec, status };
    },
    ...(validate && { validate }),
  });
}
