import { GoInteger, GoPointer, GoStruct, goValue, type Value } from "@istiod/go-template";
import { type MeshConfig, MeshConfigSchema } from "@istiod/istio-api/mesh/v1alpha1/config";
import { type ProxyConfig, ProxyConfigSchema } from "@istiod/istio-api/mesh/v1alpha1/proxy";
import { asObject, type JsonObject } from "../go-types/json.js";
import { templateStruct } from "../go-types/template-value.js";
import { messagePointer } from "./message-value.js";

/** Input of a template. */
export interface TemplateInput {
  /** The pod, as decoded, without what an earlier injection added. */
  readonly pod: JsonObject;
  /** Name and namespace of the workload that the pod belongs to. */
  readonly workload: { readonly name: string; readonly namespace: string };
  readonly workloadType: { readonly apiVersion: string; readonly kind: string };
  readonly proxyConfig: ProxyConfig;
  readonly meshConfig: MeshConfig;
  readonly values: JsonObject;
  readonly revision: string;
  readonly nativeSidecars: boolean;
  readonly proxyImage: string;
  readonly proxyInitImage: string;
  readonly proxyUid: number;
  readonly proxyGid: number;
  /** `passthrough` or `localhost`. */
  readonly inboundTrafficPolicyMode: string;
  readonly compliancePolicy: string;
}

/** Returns the data of injection templates, with Istio's names of the fields (`SidecarTemplateData`). */
export function templateData(input: TemplateInput): Value {
  const { workload, workloadType } = input;
  const integer = (value: number): GoInteger => new GoInteger("int64", BigInt(value));
  const data = new GoStruct("inject.SidecarTemplateData", {
    TypeMeta: templateStruct("TypeMeta", { ...workloadType }),
    DeploymentMeta: new GoStruct(
      "types.NamespacedName",
      { Namespace: workload.namespace, Name: workload.name },
      { text: () => `${workload.namespace}/${workload.name}` },
    ),
    ObjectMeta: templateStruct("ObjectMeta", asObject(input.pod["metadata"]) ?? {}),
    Spec: templateStruct("PodSpec", asObject(input.pod["spec"]) ?? {}),
    ProxyConfig: messagePointer(ProxyConfigSchema, input.proxyConfig),
    MeshConfig: messagePointer(MeshConfigSchema, input.meshConfig),
    Values: goValue(input.values),
    Revision: input.revision,
    NativeSidecars: input.nativeSidecars,
    ProxyImage: input.proxyImage,
    ProxyInitImage: input.proxyInitImage,
    ProxyUID: integer(input.proxyUid),
    ProxyGID: integer(input.proxyGid),
    InboundTrafficPolicyMode: input.inboundTrafficPolicyMode,
    CompliancePolicy: input.compliancePolicy,
  });
  return new GoPointer(data);
}
