import { collection } from "@istiod/incremental";
import { clusterKey, type ConfigObject } from "../../config-object.js";
import { Fields } from "../../decoding/fields.js";
import { discoveryNamespacesFilter } from "../../mesh/discovered-namespaces.js";
import { isIstioKey } from "../istio/istio-keys.js";
import { declareKind, type KindDeclaration } from "../kind.js";

export interface SecretSpec {
  /** For example `Opaque` or `kubernetes.io/tls`. */
  readonly type: string;
  readonly data: Readonly<Record<string, Uint8Array>>;
  /** Set for Secrets of a directory, where an istiod that runs looks for no remote clusters. */
  readonly isOfDirectory?: true;
}
export type SecretObject = ConfigObject<SecretSpec>;

/** Secrets by `cluster/ns/name`. */
export const secrets = collection<SecretObject>("Secret", { filter: discoveryNamespacesFilter });

/** Secret types that are never read and can be many and large. */
const unread = new Set(["helm.sh/release.v1", "kubernetes.io/service-account-token"]);

const declaration: KindDeclaration<SecretSpec, undefined> = {
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
};

export const secretKind = declareKind(declaration);

/** Secrets of the directories of an istiod that runs, marked as such. */
export const directorySecretKind = declareKind<SecretSpec, undefined>({
  ...declaration,
  decode(manifest, report) {
    const content = declaration.decode(manifest, report);
    return content && { ...content, spec: { ...content.spec, isOfDirectory: true } };
  },
});
