import { formatProblem, readText } from "@istiod/config-schema";
import { describe, expect, test } from "vitest";

const gatewayApi = "gateway.networking.k8s.io/v1";
const experimental = "gateway.networking.x-k8s.io/v1alpha1";

/** Returns the problems of an object, without their place. */
function problemsOf(apiVersion: string, kind: string, spec: unknown): readonly string[] {
  const metadata = kind === "GatewayClass" ? { name: "a" } : { name: "a", namespace: "shop" };
  const text = JSON.stringify({ apiVersion, kind, metadata, spec });
  return readText(text, "a.yaml").flatMap(({ problems }) =>
    problems.map((problem) => `${problem.severity} ${formatProblem(problem).replace(/^a\.yaml:\d+: /, "")}`),
  );
}

const listener = { name: "http", port: 80, protocol: "HTTP" };
const gateway = (fields: object): object => ({ gatewayClassName: "istio", listeners: [listener], ...fields });
const withListener = (fields: object): object => gateway({ listeners: [{ ...listener, ...fields }] });
const target = { group: "", kind: "Service", name: "cart" };
const pool = {
  selector: { matchLabels: { app: "model" } },
  targetPorts: [{ number: 8000 }],
  endpointPickerRef: { name: "picker", port: { number: 9002 } },
};
const validation = { hostname: "cart.example" };

describe("valid objects have no problems", () => {
  test.each([
    [gatewayApi, "GatewayClass", { controllerName: "example.com/gateways", description: "a" }],
    [
      gatewayApi,
      "Gateway",
      gateway({
        addresses: [{ type: "Hostname", value: "gate" }, { value: "192.0.2.1" }],
        infrastructure: { labels: { a: "b" }, parametersRef: { group: "", kind: "ConfigMap", name: "defaults" } },
        allowedListeners: { namespaces: { from: "Selector", selector: { matchLabels: { team: "a" } } } },
        tls: {
          frontend: {
            default: { validation: { caCertificateRefs: [{ group: "", kind: "ConfigMap", name: "roots" }] } },
            perPort: [{ port: 443, tls: {} }],
          },
        },
      }),
    ],
    [gatewayApi, "ListenerSet", { parentRef: { name: "gate" }, listeners: [{ name: "http", protocol: "HTTP" }] }],
    [
      "gateway.networking.k8s.io/v1beta1",
      "ReferenceGrant",
      { from: [{ group: "", kind: "Service", namespace: "a" }], to: [{ group: "", kind: "Secret", name: "b" }] },
    ],
    ["gateway.networking.k8s.io/v1alpha3", "BackendTLSPolicy", { targetRefs: [target], validation }],
    [experimental, "XBackendTrafficPolicy", { targetRefs: [target], retryConstraint: { budget: { percent: 5 } } }],
    [
      experimental,
      "XBackend",
      { type: "ExternalHostname", externalHostname: { hostname: "a.example" }, port: { number: 443 } },
    ],
    [
      "inference.networking.k8s.io/v1",
      "InferencePool",
      {
        selector: { matchLabels: { app: "model" } },
        targetPorts: [{ number: 8000 }],
        endpointPickerRef: { name: "picker", port: { number: 9002 }, failureMode: "FailOpen" },
      },
    ],
  ])("%s %s", (apiVersion, kind, spec) => {
    expect(problemsOf(apiVersion, kind, spec)).toEqual([]);
  });
});

describe("a field that is not valid is named", () => {
  test.each<readonly [string, string, unknown, string]>([
    [gatewayApi, "GatewayClass", {}, "controllerName: is missing, expected the name of a controller: domain/path"],
    [gatewayApi, "Gateway", { listeners: [listener] }, "gatewayClassName: is missing, expected the name of a GatewayC"],
    [gatewayApi, "Gateway", withListener({ name: "Http" }), 'listeners[0].name: is "Http", expected'],
    [
      gatewayApi,
      "Gateway",
      withListener({ port: 0 }),
      "listeners[0].port: is 0, expected a port number from 1 to 65535",
    ],
    [gatewayApi, "Gateway", withListener({ protocol: "" }), 'listeners[0].protocol: is "", expected a protocol'],
    [gatewayApi, "Gateway", withListener({ hostname: "*" }), 'listeners[0].hostname: is "*", expected a domain name'],
    [gatewayApi, "Gateway", withListener({ hostname: 5 }), "listeners[0].hostname: is 5, expected a string"],
    [
      gatewayApi,
      "Gateway",
      withListener({ tls: { mode: "Magic" } }),
      'listeners[0].tls.mode: is "Magic", expected one of Terminate, Passthrough',
    ],
    [
      gatewayApi,
      "Gateway",
      withListener({ tls: { certificateRefs: [{}] } }),
      "listeners[0].tls.certificateRefs[0].name: is missing, expected a name of at most 253 characters",
    ],
    [
      gatewayApi,
      "Gateway",
      withListener({ allowedRoutes: { namespaces: { from: "Some" } } }),
      'listeners[0].allowedRoutes.namespaces.from: is "Some", expected one of All, Selector, Same, None',
    ],
    [
      gatewayApi,
      "Gateway",
      withListener({
        allowedRoutes: {
          namespaces: { from: "Selector", selector: { matchExpressions: [{ key: "a", operator: "Like" }] } },
        },
      }),
      'listeners[0].allowedRoutes.namespaces.selector.matchExpressions[0].operator: is "Like", expected one of In',
    ],
    [
      gatewayApi,
      "Gateway",
      gateway({ listeners: [listener, { ...listener, port: 81 }] }),
      'listeners[1].name: is "http", expected a name that no other listener has',
    ],
    [
      gatewayApi,
      "Gateway",
      gateway({ tls: { frontend: { default: { validation: { mode: "Never" } } } } }),
      'tls.frontend.default.validation.mode: is "Never", expected one of AllowValidOnly, AllowInsecureFallback',
    ],
    [gatewayApi, "ListenerSet", { listeners: [listener] }, "parentRef.name: is missing, expected a name"],
    [
      gatewayApi,
      "ReferenceGrant",
      { from: [{ group: "", kind: "Service" }] },
      "from[0].namespace: is missing, expected at most 63 lower-case letters",
    ],
    // Without a name, the grant would be for all objects.
    [
      gatewayApi,
      "ReferenceGrant",
      { to: [{ group: "", kind: "Secret", name: "" }] },
      'to[0].name: is "", expected the name of an object, or no name',
    ],
    [
      gatewayApi,
      "BackendTLSPolicy",
      { targetRefs: [target] },
      "validation.hostname: is missing, expected a domain name",
    ],
    [
      gatewayApi,
      "BackendTLSPolicy",
      { targetRefs: [target], validation: { ...validation, subjectAltNames: [{ type: "URI" }] } },
      "validation.subjectAltNames[0].uri: is missing, expected a URI",
    ],
    [
      experimental,
      "XBackendTrafficPolicy",
      { targetRefs: [target], retryConstraint: { budget: { percent: 101 } } },
      "retryConstraint.budget.percent: is 101, expected 0 to 100",
    ],
    [
      experimental,
      "XBackendTrafficPolicy",
      { targetRefs: [target], retryConstraint: { budget: { interval: "ten" } } },
      'retryConstraint.budget.interval: is "ten", expected a duration',
    ],
    [
      experimental,
      "XBackend",
      { type: "External", port: { number: 1 } },
      'type: is "External", expected one of Extern',
    ],
    [experimental, "XBackend", { type: "ExternalHostname" }, "port.number: is missing, expected a port number"],
    [
      experimental,
      "XBackend",
      { type: "ExternalHostname", externalHostname: { hostname: "a.example" }, port: { port: 443 } },
      "port.port: is 443, expected number, as this field is called since v1.7.0 of the Gateway API",
    ],
    ...(
      [
        [
          { endpointPickerRef: { name: "p", failureMode: "Fail" } },
          'endpointPickerRef.failureMode: is "Fail", expected',
        ],
        [
          { endpointPickerRef: { name: "p" } },
          "endpointPickerRef.port.number: is missing, expected a port of the Service",
        ],
        [{ selector: {} }, "selector.matchLabels: is missing, expected labels of the pool's Pods"],
        [{ targetPorts: undefined }, "targetPorts: is missing, expected 1 to 8 ports"],
        [
          { targetPorts: Array.from({ length: 9 }, (_, i) => ({ number: i + 1 })) },
          "targetPorts: is a list, expected 1 to",
        ],
        [{ targetPorts: [{ number: 80 }, { number: 80 }] }, "targetPorts[1].number: is 80, expected unique numbers"],
        [{ appProtocol: "h2c" }, 'appProtocol: is "h2c", expected one of http, kubernetes.io/h2c'],
      ] as const
    ).map(
      ([fields, problem]) =>
        ["inference.networking.k8s.io/v1", "InferencePool", { ...pool, ...fields }, problem] as const,
    ),
  ])("%s %s %j", (apiVersion, kind, spec, problem) => {
    const name = kind === "GatewayClass" ? "a" : "shop/a";
    const problems = problemsOf(apiVersion, kind, spec);
    expect(problems.some((text) => text.startsWith(`error ${kind} ${name}: ${problem}`))).toBe(true);
  });
});

describe("a field without effect is named", () => {
  test.each<readonly [string, string, unknown, string]>([
    [gatewayApi, "Gateway", gateway({ defaultScope: "All" }), "defaultScope: has no effect: no Gateway"],
    [gatewayApi, "Gateway", gateway({ gatewayClass: "a" }), "gatewayClass: is unknown and has no effect"],
    [gatewayApi, "Gateway", withListener({ filters: {} }), "listeners[0].filters: has no effect: Istio does not apply"],
    [
      gatewayApi,
      "Gateway",
      withListener({ tls: { options: { "example.com/a": "b" } } }),
      'listeners[0].tls.options["example.com/a"]: is unknown and has no effect',
    ],
    [
      gatewayApi,
      "BackendTLSPolicy",
      { targetRefs: [target], validation, options: {} },
      "options: has no effect: Istio has no options of policies",
    ],
    [
      experimental,
      "XBackendTrafficPolicy",
      { targetRefs: [target], sessionPersistence: {} },
      "sessionPersistence: has no effect",
    ],
    [
      experimental,
      "XBackend",
      { type: "EndpointSelector", endpointSelector: {}, port: { number: 1 } },
      "endpointSelector: has no effect: Istio serves XBackends of the type ExternalHostname only",
    ],
  ])("%s %s %j", (apiVersion, kind, spec, problem) => {
    const problems = problemsOf(apiVersion, kind, spec);
    expect(problems.filter((text) => text.startsWith(`warning ${kind} shop/a: ${problem}`))).toHaveLength(1);
    expect(problems).toHaveLength(1);
  });
});
