import {
  GoInteger,
  goList,
  GoStruct,
  GoMap,
  goValue,
  parseTemplate,
  sliceOf,
  stringMapType,
  structType,
} from "@istiod/go-template";
import { MeshConfigSchema } from "@istiod/istio-api/mesh/v1alpha1/config";
import { ProxyConfigSchema } from "@istiod/istio-api/mesh/v1alpha1/proxy";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  absence,
  comparable,
  injectionValues,
  referenceInstallation,
  chartInstallation,
} from "@istiod/injector/testing";
import { templateStruct } from "../src/go-types/template-value.js";
import { injectionFunctions } from "../src/templates/functions.js";
import { messagePointer } from "../src/templates/message-value.js";
import { arbitraryInjection, type Injection, valuesWith } from "./arbitrary-injections.js";
import { injectorOf } from "./injection-fixtures.js";

const runs = Number(process.env["INJECTION_RUNS"] ?? 30);
const chart = chartInstallation();
const functions = injectionFunctions({ environment: {}, now: () => 0 });

type Labels = Readonly<Record<string, string>>;

/** A managed gateway, as its controller describes it to templates. */
interface Gateway {
  readonly name: string;
  readonly annotations: Labels;
  readonly infrastructure: { readonly labels: Labels; readonly annotations: Labels };
  readonly address: string | undefined;
  readonly serviceType: string;
  readonly kubeVersion: number;
  readonly controller: string;
  readonly ports: readonly number[];
}

const some = (values: Labels): fc.Arbitrary<Labels> =>
  fc.subarray(Object.entries(values)).map((entries) => Object.fromEntries(entries));

const gateway: fc.Arbitrary<Gateway> = fc.record({
  name: fc.constantFrom("shop", "edge"),
  annotations: some({ "sidecar.istio.io/proxyImage": "r.example/p:1", "sidecar.istio.io/logLevel": "debug" }),
  infrastructure: fc.record({
    labels: some({ team: "a", "topology.istio.io/network": "net", "service.istio.io/canonical-revision": "v2" }),
    annotations: some({
      cost: "1",
      "prometheus.io/port": "1",
      "networking.istio.io/traffic-distribution": "Any",
      "gateway.istio.io/name-override": "other",
      "gateway.istio.io/controller-version": "5",
    }),
  }),
  address: fc.option(fc.constant("192.0.2.1"), { nil: undefined }),
  serviceType: fc.constantFrom("LoadBalancer", "ClusterIP"),
  kubeVersion: fc.constantFrom(127, 128, 133),
  controller: fc.constantFrom("istio.io-mesh-controller", "istio.io-eastwest-controller"),
  ports: fc.subarray([80, 443]),
});

const stringMap = (map: Labels): GoMap => new GoMap(stringMapType, Object.entries(map));
const integer = (value: number): GoInteger => new GoInteger("int64", BigInt(value));

function render(source: string, described: Gateway, injection: Injection): readonly unknown[] {
  const { name, annotations, infrastructure, address, ports } = described;
  const values = injectionValues(valuesWith(chart.values, injection.values));
  const { meshConfig, proxyConfig } = injectorOf({ mesh: injection.mesh, values });
  const target = { namespace: "shop", labels: {}, annotations: {} };
  const addresses = address === undefined ? [] : [new GoStruct("v1.GatewaySpecAddress", { Value: address })];
  const data = new GoStruct("derivedInput", {
    ObjectMeta: templateStruct("ObjectMeta", { name, namespace: "shop", annotations }),
    Name: name,
    Namespace: "shop",
    UID: "uid-1",
    Spec: new GoStruct("v1.GatewaySpec", {
      Addresses: goList(sliceOf(structType("v1.GatewaySpecAddress")), addresses),
    }),
    GatewayClass: "istio",
    GatewayNameLabel: "gateway.networking.k8s.io/gateway-name",
    DeploymentName: `${name}-istio`,
    ServiceAccount: `${name}-account`,
    Ports: goList(
      sliceOf(structType("v1.ServicePort")),
      ports.map((port) => {
        const fields = { Name: `p${port}`, Port: integer(port), Protocol: "TCP", AppProtocol: "http" };
        return new GoStruct("v1.ServicePort", fields);
      }),
    ),
    ServiceType: described.serviceType,
    ClusterID: "Kubernetes",
    KubeVersion: integer(described.kubeVersion),
    Revision: injection.revision,
    ProxyUID: integer(1337),
    ProxyGID: integer(1337),
    CompliancePolicy: "",
    InfrastructureLabels: stringMap(infrastructure.labels),
    InfrastructureAnnotations: stringMap(infrastructure.annotations),
    ControllerLabel: described.controller,
    ProxyImage: "hub/proxyv2:1",
    ProxyConfig: messagePointer(ProxyConfigSchema, proxyConfig(target)),
    MeshConfig: messagePointer(MeshConfigSchema, meshConfig),
    Values: goValue(values),
  });
  return comparable(parseTemplate("gateway", source, { functions }).execute(data));
}

describe("templates of the chart and of the reference give equal objects for a managed gateway", () => {
  it.for(["kube-gateway", "waypoint"])("%s", (name, { skip }) => {
    skip(absence !== undefined, absence);
    const reference = referenceInstallation().templates[name] ?? "";
    fc.assert(
      fc.property(gateway, arbitraryInjection, (described, injection) => {
        const objects = render(chart.templates[name] ?? "", described, injection);
        expect(objects).toHaveLength(5);
        expect(objects).toEqual(render(reference, described, injection));
      }),
      { numRuns: runs },
    );
  });
});
