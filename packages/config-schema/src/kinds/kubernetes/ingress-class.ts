import { collection } from "@istiod/incremental";
import type { ConfigObject } from "../../config-object.js";
import { Fields } from "../../decoding/fields.js";
import { declareKind } from "../kind.js";

export interface IngressClassSpec {
  /** Controller of the class, such as `istio.io/ingress-controller`. */
  readonly controller: string;
}

export type IngressClassObject = ConfigObject<IngressClassSpec>;

/** IngressClasses of the config cluster, by name. */
export const ingressClasses = collection<IngressClassObject>("IngressClass");

export const ingressClassKind = declareKind<IngressClassSpec, undefined>({
  kind: "IngressClass",
  group: "networking.k8s.io",
  versions: ["v1"],
  scope: "cluster",
  collection: ingressClasses,
  labels: () => false,
  annotations: () => false,
  fields: { spec: { controller: true } },
  key: ({ name }) => name,
  decode: (manifest, report) => ({
    spec: { controller: Fields.of(manifest.body, report).object("spec").string("controller") },
  }),
});
