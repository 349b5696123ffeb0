import { collection } from "@istiod/incremental";
import { clusterKey, type ConfigObject } from "../../config-object.js";
import { Fields } from "../../decoding/fields.js";
import { discoveryNamespacesFilter } from "../../mesh/discovered-namespaces.js";
import { isIstioKey } from "../istio/istio-keys.js";
import { declareKind } from "../kind.js";

export interface SecretSpec {
  /** For example `Opaque` or `kubernetes.io/tls`. */
  readonly type: string;
  readonly data: Readonly<Record<string, Uint8Array>>;
}
export type SecretObject = ConfigObject<SecretSpec>;

/** Secrets by `cluster/ns/name`. */
export const secrets = collection<SecretObject>("Secret", { filter: discoveryNamespacesFilter });

/** Secret types that are never read and can be many and large. */
const unread = new Set(["helm.sh/release.v1", "kubernetes.io/service-account-token"]);

export const secretKind = declareKind<SecretSpec, undefined>({
  kind: "Secret",
  group: "",
  versions: ["v1"],
  scope: "namespaced",
  collection: secrets,
  labels: isIstioKey,
  annotations: isIstioKey,
  fields: { type: true, data: true, stringData: true },
  key: clusterKey,
  fieldSelector: [...unread].map((type) => `type!=${type}`).join(","),
  skip: ({ body: { type } }) => typeof type === "string" && unread.has(type),
  decode(manifest, report) {
    const body = Fields.secret(manifest.body, report);
    const data: Record<string, Uint8Array> = {};
    for (const [key, value] of Object.entries(body.bytesMap("data"))) data[key] = value;
    for (const [key, value] of Object.entries(body.stringMap("stringData")))
      data[key] = new TextEncoder().encode(value);
    return { spec: { type: body.string("type", "Opaque"), data } };
  },
});
