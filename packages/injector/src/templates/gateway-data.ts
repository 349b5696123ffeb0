import {
  GoInteger,
  goList,
  GoMap,
  GoPointer,
  GoStruct,
  goValue,
  sliceOf,
  stringMapType,
  structType,
  type Value,
} from "@istiod/go-template";
import { type MeshConfig, MeshConfigSchema } from "@istiod/istio-api/mesh/v1alpha1/config";
import { type ProxyConfig, ProxyConfigSchema } from "@istiod/istio-api/mesh/v1alpha1/proxy";
import { asObject, type JsonObject } from "../go-types/json.js";
import { templateStruct } from "../go-types/template-value.js";
import { messagePointer } from "./message-value.js";

type StringMap = Readonly<Record<string, string>>;

/** A port of a managed gateway's Service. */
export interface GatewayPort {
  readonly name: string;
  readonly port: number;
  readonly protocol: "TCP" | "UDP";
  readonly appProtocol: string;
}

/** A managed gateway as its users describe it. */
export interface GatewayDescription {
  /** `metadata` of the Gateway, with name, namespace and UID. */
  readonly metadata: JsonObject;
  readonly gatewayClass: string;
  readonly deploymentName: string;
  readonly serviceAccount: string;
  readonly ports: readonly GatewayPort[];
  readonly serviceType: string;
  readonly addresses: readonly { readonly type?: string; readonly value: string }[];
  readonly infrastructureLabels: StringMap;
  readonly infrastructureAnnotations: StringMap;
  readonly proxyImage: string;
  readonly agentgatewayImage: string;
  readonly proxyConfig: ProxyConfig;
}

/** Input of the template of a managed gateway. */
export interface GatewayTemplateInput extends GatewayDescription {
  readonly meshConfig: MeshConfig;
  readonly values: JsonObject;
  readonly clusterId: string;
  /** Version of Kubernetes: the major version times 100, and the minor version, such as 128 for 1.28. */
  readonly kubeVersion: number;
  readonly revision: string;
  readonly nativeSidecars: boolean;
  readonly proxyUid: number;
  readonly proxyGid: number;
  readonly compliancePolicy: string;
  readonly isEastWest: boolean;
  readonly controllerLabel: string;
}

/** Returns the data of a managed gateway's template, with Istio's names of the fields (`derivedInput`). */
export function gatewayData(input: GatewayTemplateInput): Value {
  const { metadata } = input;
  const text = (name: string): string => (typeof metadata[name] === "string" ? metadata[name] : "");
  const data = new GoStruct("gatewaycommon.derivedInput", {
    ObjectMeta: templateStruct("ObjectMeta", metadata),
    Name: text("name"),
    Namespace: text("namespace"),
    UID: text("uid"),
    Labels: stringMap((asObject(metadata["labels"]) ?? {}) as StringMap),
    Annotations: stringMap((asObject(metadata["annotations"]) ?? {}) as StringMap),
    Spec: specOf(input),
    GatewayClass: input.gatewayClass,
    GatewayNameLabel: "gateway.networking.k8s.io/gateway-name",
    DeploymentName: input.deploymentName,
    ServiceAccount: input.serviceAccount,
    Ports: goList(sliceOf(structType("v1.ServicePort")), input.ports.map(portOf)),
    ServiceType: input.serviceType,
    ClusterID: input.clusterId,
    KubeVersion: integer(input.kubeVersion),
    Revision: input.revision,
    NativeSidecars: input.nativeSidecars,
    ProxyUID: integer(input.proxyUid),
    ProxyGID: integer(input.proxyGid),
    CompliancePolicy: input.compliancePolicy,
    InfrastructureLabels: stringMap(input.infrastructureLabels),
    InfrastructureAnnotations: stringMap(input.infrastructureAnnotations),
    IsEastWestGateway: input.isEastWest,
    ControllerLabel: input.controllerLabel,
    ProxyImage: input.proxyImage,
    AgentgatewayImage: input.agentgatewayImage,
    ProxyConfig: messagePointer(ProxyConfigSchema, input.proxyConfig),
    MeshConfig: messagePointer(MeshConfigSchema, input.meshConfig),
    Values: goValue(input.values),
  });
  return new GoPointer(data);
}

/** Returns the parts of a Gateway's `spec` that templates may read. */
function specOf({ gatewayClass, addresses }: GatewayTemplateInput): GoStruct {
  const items = addresses.map(
    ({ type, value }) => new GoStruct("v1.GatewaySpecAddress", { Type: type ?? null, Value: value }),
  );
  return new GoStruct("v1.GatewaySpec", {
    GatewayClassName: gatewayClass,
    Addresses: goList(sliceOf(structType("v1.GatewaySpecAddress")), items),
  });
}

const portOf = ({ name, port, protocol, appProtocol }: GatewayPort): GoStruct =>
  new GoStruct("v1.ServicePort", {
    Name: name,
    Port: new GoInteger("int32", BigInt(port)),
    Protocol: protocol,
    AppProtocol: appProtocol,
  });

const stringMap = (map: StringMap): GoMap => new GoMap(stringMapType, Object.entries(map));
const integer = (value: number): GoInteger => new GoInteger("int64", BigInt(value));
