import { existsSync, readFileSync } from "node:fs";
import {
  gatewayDeploymentController,
  type ManagedGatewaySettings,
  type PlannedWrite,
  planWrites,
} from "@istiod/controllers";
import { create } from "@bufbuild/protobuf";
import { defaultMeshConfig, type ProxyConfigObject } from "@istiod/config-schema";
import { LabelSelectorSchema, type MeshConfig } from "@istiod/istio-api/mesh/v1alpha1/config";
import type { KubernetesObject } from "@istiod/kubernetes";
import { parseAllDocuments } from "yaml";
import { describe, expect, it } from "vitest";
import { constant, defaultSettings, injectionOf } from "./support/managed-gateways.js";

const peer = new URL("../../../../shared/peer/", import.meta.url);
const folder = new URL("gateway-deployment/", peer);
const absence = existsSync(folder) ? undefined : "no ../shared/peer/gateway-deployment beside the repository";

/** A case of the reference: objects, and the payloads that its controller applies. */
interface Case {
  readonly name: string;
  readonly input: string;
  readonly want: string;
  readonly values?: Readonly<Record<string, unknown>>;
  readonly env?: Readonly<Record<string, string>>;
  readonly discoveryNamespaces?: readonly string[];
  readonly proxyConfig?: boolean;
}

const cases: readonly Case[] =
  absence === undefined ? (JSON.parse(read("cases.json")) as readonly Case[]) : [{ name: "all", input: "", want: "" }];

function read(name: string): string {
  return readFileSync(new URL(name, folder), "utf8");
}

const documents = (text: string): readonly KubernetesObject[] =>
  parseAllDocuments(text).flatMap((document) => (document.toJS() as KubernetesObject | null) ?? []);

const template = (name: string): string => readFileSync(new URL(`inject-templates/${name}.yaml`, peer), "utf8").trim();

const customClass: KubernetesObject & { readonly spec: object } = {
  apiVersion: "gateway.networking.k8s.io/v1",
  kind: "GatewayClass",
  metadata: { name: "custom" },
  spec: { controllerName: "istio.io/gateway-controller" },
};
const formerLabels = {
  "gateway.networking.k8s.io/gateway-name": "test-upgrade",
  "istio.io/gateway-name": "test-upgrade",
};
const formerDeployment: KubernetesObject & { readonly spec: object } = {
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: {
    namespace: "default",
    name: "test-upgrade",
    resourceVersion: "1",
    labels: { "gateway.istio.io/managed": "istio.io-mesh-controller" },
  },
  spec: { selector: { matchLabels: formerLabels }, template: { metadata: { labels: formerLabels } } },
};
const selectsGateway: ProxyConfigObject = {
  namespace: "default",
  name: "test",
  creationTimestamp: 0,
  spec: {
    selector: { matchLabels: { "gateway.networking.k8s.io/gateway-name": "default" } },
    image: { imageType: "distroless" },
    environmentVariables: {},
  },
} as never;

function settingsOf({ env = {} }: Case): ManagedGatewaySettings {
  return {
    ...defaultSettings,
    hasWaypoints: true,
    hasEastWest: true,
    hasAgentgateway: true,
    copiesMetadata: env["PILOT_ENABLE_GATEWAY_API_COPY_LABELS_ANNOTATIONS"] !== "false",
    hasQuic: env["PILOT_ENABLE_QUIC_LISTENERS"] === "true",
  };
}

function meshOf({ discoveryNamespaces }: Case): MeshConfig {
  const mesh = defaultMeshConfig();
  mesh.discoverySelectors = (discoveryNamespaces ?? []).map((name) =>
    create(LabelSelectorSchema, { matchLabels: { "kubernetes.io/metadata.name": name } }),
  );
  return mesh;
}

/** Returns objects as an API server has them, which labels namespaces with their names. */
function objectsOf({ input }: Case): readonly KubernetesObject[] {
  return [...documents(read(input)), customClass, formerDeployment].map((object) =>
    object.kind === "Namespace"
      ? {
          ...object,
          metadata: { ...object.metadata, labels: { "kubernetes.io/metadata.name": object.metadata?.name ?? "" } },
        }
      : object,
  );
}

function plan(of: Case): readonly PlannedWrite[] {
  const templates = Object.fromEntries(
    ["kube-gateway", "waypoint", "agentgateway", "agentgateway-waypoint"].map((name) => [name, template(name)]),
  );
  const controller = gatewayDeploymentController({
    mesh: { current: () => meshOf(of), onChange: () => () => undefined },
    systemNamespace: "istio-system",
    settings: settingsOf(of),
    sources: {
      injection: constant(injectionOf(templates, of.values ?? { global: { hub: "test", tag: "test" } })),
      proxyConfigs: constant(of.proxyConfig === true ? [selectsGateway] : []),
      kubeVersion: constant({ number: 128 }),
    },
  });
  return planWrites(controller, objectsOf(of));
}

/** Returns the body of a request. The Gateway is named by its path. */
function payloadOf(planned: PlannedWrite): unknown {
  if (!("write" in planned) || planned.write.action !== "apply") throw new Error(`${planned.key} is not applied`);
  const { object, subresource } = planned.write;
  return subresource === "status"
    ? {
        apiVersion: "gateway.networking.k8s.io/v1",
        kind: "Gateway",
        metadata: { annotations: object.metadata?.annotations },
      }
    : object;
}

/** Masks what templates print for values that are not set: Go's and the library's words differ. */
function masked(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value).replace(/<no value>|<nil>/g, "<unset>"));
}

describe("payloads of managed gateways are those of the reference", () => {
  it.for(cases)("$name", (of, { skip }) => {
    skip(absence !== undefined, absence);
    expect(masked(plan(of).map(payloadOf))).toEqual(masked(documents(read(of.want))));
  });
});
