import { collection } from "@istiod/incremental";
import type { ConfigObject } from "../../config-object.js";
import { Fields } from "../../decoding/fields.js";
import { isIstioKey } from "../istio/istio-keys.js";
import { warnOfIgnored, warnOfOthers } from "./field-rules.js";
import { declareKind } from "../kind.js";
import { isAnyText, requiredString } from "./checked-fields.js";
import { decodeFullReference, type FullReference } from "./references.js";

export interface GatewayClassSpec {
  /** Controller of the class, such as `istio.io/gateway-controller`. */
  readonly controllerName: string;
  readonly parametersRef?: FullReference;
  readonly description?: string;
}

export type GatewayClassObject = ConfigObject<GatewayClassSpec>;

/** GatewayClasses of the config cluster, by name. */
export const gatewayClasses = collection<GatewayClassObject>("GatewayClass");

export const gatewayClassKind = declareKind<GatewayClassSpec, undefined>({
  kind: "GatewayClass",
  group: "gateway.networking.k8s.io",
  versions: ["v1", "v1beta1"],
  scope: "cluster",
  collection: gatewayClasses,
  labels: isIstioKey,
  annotations: isIstioKey,
  fields: { spec: true },
  hasGeneration: true,
  key: ({ name }) => name,
  decode(manifest, report) {
    const spec = Fields.of(manifest.body, report).object("spec");
    const parametersRef = spec.object("parametersRef");
    warnOfIgnored(
      spec,
      "parametersRef",
      "defaults of a class are ConfigMaps with the label gateway.istio.io/defaults-for-class",
    );
    warnOfOthers(spec, ["controllerName", "parametersRef", "description"]);
    return {
      spec: {
        controllerName: requiredString(spec, "controllerName", isAnyText, "the name of a controller: domain/path"),
        ...(parametersRef.present && { parametersRef: decodeFullReference(parametersRef) }),
        ...spec.optionalString("description"),
      },
    };
  },
});
