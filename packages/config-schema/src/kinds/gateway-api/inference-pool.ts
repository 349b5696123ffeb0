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
  hasGeneration: true,
  key: meshKey,
  decode(manifest, report) {
    const spec = Fields.of(manifest.body, report).object("spec");
    const labels = spec.object("selector");
    warnOfOthers(spec, ["selector", "targetPorts", "appProtocol", "endpointPickerRef"]);
    const selector = labels.stringMap("matchLabels");
    checkSelectorLabels(labels, "matchLabels", selector);
    if (!labels.has("matchLabels")) spec.fault(["selector", "matchLabels"], undefined, "labels of the pool's Pods");
    const picker = spec.object("endpointPickerRef");
    const port = picker.object("port").optionalPort("number").number;
    if (port === undefined && picker.present && picker.string("kind", "Service") === "Service")
      picker.fault(["port", "number"], undefined, "a port of the Service");
    return {
      spec: {
        selector,
        targetPorts: decodeTargetPorts(spec),
        ...optionalEnum(spec, "appProtocol", ["http", "kubernetes.io/h2c"]),
        endpointPicker: {
          ...decodeReference(picker, ["port", "failureMode"]),
          ...(port !== undefined && { port }),
          ...optionalEnum(picker, "failureMode", ["FailOpen", "FailClose"]),
        },
      },
    };
  },
});

/** Most target ports of a pool. */
const maxTargetPorts = 8;

function decodeTargetPorts(spec: Fields): readonly number[] {
  const ports = spec.list("targetPorts").map((target) => target.port("number"));
  if (ports.length === 0 || ports.length > maxTargetPorts)
    spec.fault(["targetPorts"], spec.has("targetPorts") ? ports : undefined, `1 to ${maxTargetPorts} ports`);
  else
    for (const [i, port] of ports.entries())
      if (port !== 0 && ports.indexOf(port) < i) spec.fault(["targetPorts", i, "number"], port, "unique numbers");
  return ports;
}
