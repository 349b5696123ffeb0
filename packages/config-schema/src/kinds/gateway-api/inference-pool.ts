import { collection } from "@istiod/incremental";
import { meshKey, type ConfigObject } from "../../config-object.js";
import { Fields } from "../../decoding/fields.js";
import { discoveryNamespacesFilter } from "../../mesh/discovered-namespaces.js";
import { checkSelectorLabels } from "../../validation/kubernetes/fields.js";
import { isIstioKey } from "../istio/istio-keys.js";
import { warnOfOthers } from "./field-rules.js";
import { declareKind } from "../kind.js";
import { optionalEnum } from "./checked-fields.js";
import { decodeReference, type ObjectReference } from "./references.js";

/** The service that picks an endpoint of a pool for each request. */
export interface EndpointPicker extends ObjectReference {
  readonly port?: number;
  /** Treatment of requests that the picker does not answer: `FailClose` rejects them, the default. */
  readonly failureMode?: "FailOpen" | "FailClose";
}

export interface InferencePoolSpec {
  /** Labels of the pool's Pods. */
  readonly selector: Readonly<Record<string, string>>;
  /** Ports of the Pods. */
  readonly targetPorts: readonly number[];
  readonly appProtocol?: string;
  readonly endpointPicker: EndpointPicker;
}

export type InferencePoolObject = ConfigObject<InferencePoolSpec>;

/** InferencePools of the config cluster, by `ns/name`. */
export const inferencePools = collection<InferencePoolObject>("InferencePool", { filter: discoveryNamespacesFilter });

export const inferencePoolKind = declareKind<InferencePoolSpec, undefined>({
  kind: "InferencePool",
  group: "inference.networking.k8s.io",
  versions: ["v1"],
  scope: "namespaced",
  nameRule: "mixedCaseSubdomain",
  collection: inferencePools,
  labels: isIstioKey,
  annotations: isIstioKey,
  fields: { spec: true },
  key: meshKey,
  decode(manifest, report) {
    const spec = Fields.of(manifest.body, report).object("spec");
    const labels = spec.object("selector");
    warnOfOthers(spec, ["selector", "targetPorts", "appProtocol", "endpointPickerRef"]);
    const selector = labels.stringMap("matchLabels");
    checkSelectorLabels(labels, "matchLabels", selector);
    const picker = spec.object("endpointPickerRef");
    const port = picker.object("port").optionalPort("number").number;
    return {
      spec: {
        selector,
        targetPorts: spec.list("targetPorts").map((target) => target.port("number")),
        ...spec.optionalString("appProtocol"),
        endpointPicker: {
          ...decodeReference(picker, ["port", "failureMode"]),
          ...(port !== undefined && { port }),
          ...optionalEnum(picker, "failureMode", ["FailOpen", "FailClose"]),
        },
      },
    };
  },
});
