import { generateKeyPairSync } from "node:crypto";
import { describe, expect, it } from "vitest";
import { lookups } from "../src/index.js";
import {
  chainsOf,
  httpChain,
  httpFilterNames,
  httpFilterOf,
  listenerOf,
  managerOf,
} from "./listeners/listener-parts.js";
import { podYaml, serviceYaml } from "./mesh-yaml.js";
import { type Json, TestMesh, type TestProxy } from "./mesh.js";

const extensionType = "envoy.config.core.v3.TypedExtensionConfig";
const self = { ip: "10.1.0.1", name: "web-10-1-0-1" };
const stock = { ...self, extensions: ["envoy.filters.http.wasm"] };
const web = serviceYaml("web", { ports: ["http:80:8080", "tcp:90:9090"] }) + podYaml("web", "10.1.0.1");

const { publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
const jwks = JSON.stringify({ keys: [publicKey.export({ format: "jwk" })] });

interface Options {
  readonly namespace?: string;
  readonly age?: number;
  readonly metadata?: object;
}

function object(kind: string, name: string, spec: object, { namespace = "shop", age = 0, metadata }: Options): string {
  const creationTimestamp = new Date(Date.UTC(2026, 0, 1 + age)).toISOString();
  return `---\n${JSON.stringify({ apiVersion: "extensions.istio.io/v1alpha1", kind, metadata: { name, namespace, creationTimestamp, ...metadata }, spec })}\n`;
}
const plugin = (name: string, spec: object = {}, options: Options = {}): string =>
  object("WasmPlugin", name, { url: "oci://example.com/filter:v1", ...spec }, options);
const extension = (name: string, spec: object, options: Options = {}): string =>
  object("TrafficExtension", name, spec, options);
const wasm = (more: object = {}): object => ({ wasm: { url: "https://example.com/a.wasm", ...more } });
const lua = { lua: { inlineCode: "function envoy_on_request(h) end" } };
const nameOf = (name: string, namespace = "shop"): string =>
  `extensions.istio.io/trafficextension/${namespace}.${name}`;
const pluginNameOf = (name: string, namespace = "shop"): string =>
  `${nameOf(name, namespace)}~istio-translated-wasmplugin`;

const inboundChain = (yaml: string, port = "8080"): Json =>
  chainsOf(listenerOf(new TestMesh(web + yaml).proxy(stock), "virtualInbound")).find(
    ({ filterChainMatch }) =>
      filterChainMatch?.destinationPort === Number(port) && filterChainMatch.transportProtocol === "raw_buffer",
  );
const inbound = (yaml: string): string[] => extensionsOf(httpFilterNames(inboundChain(yaml)));
const outbound = (yaml: string, port = 80): string[] =>
  extensionsOf(httpFilterNames(httpChain(listenerOf(new TestMesh(web + yaml).proxy(stock), `0.0.0.0_${port}`))));
const extensionsOf = (names: readonly string[]): string[] =>
  names.filter((name) => name.startsWith("extensions.istio.io/")).map((name) => name.slice(name.indexOf(".", 24) + 1));
const networkFilters = (chain: Json): string[] => chain.filters.map(({ name }: Json) => name);
const configNames = (proxy: TestProxy): string[] => proxy.names(extensionType);

describe("HTTP filters of extensions", () => {
  it("are at the position of their phase", () => {
    const policies =
      `---\n${JSON.stringify({ apiVersion: "security.istio.io/v1", kind: "RequestAuthentication", metadata: { name: "a", namespace: "shop" }, spec: { jwtRules: [{ issuer: "a", jwks }] } })}\n` +
      `---\n${JSON.stringify({ apiVersion: "security.istio.io/v1", kind: "AuthorizationPolicy", metadata: { name: "a", namespace: "shop" }, spec: { rules: [{}] } })}\n`;
    const yaml =
      policies +
      extension("last", wasm()) +
      extension("stats", { phase: "STATS", ...wasm() }) +
      extension("authz", { phase: "AUTHZ", ...lua }) +
      plugin("authn", { phase: "AUTHN" });
    expect(httpFilterNames(inboundChain(yaml)).slice(0, 7)).toEqual([
      pluginNameOf("authn"),
      "envoy.filters.http.jwt_authn",
      nameOf("authz"),
      "envoy.filters.http.rbac",
      nameOf("stats"),
      nameOf("last"),
      "envoy.filters.http.grpc_stats",
    ]);
  });

  it("are ordered by priority, then namespace and age", () => {
    const yaml =
      extension("unset", wasm()) +
      extension("negative", { priority: -1, ...wasm() }) +
      extension("young", { priority: 5, ...wasm() }, { age: 2 }) +
      plugin("old", { priority: 5 }, { age: 1 }) +
      extension("first", { priority: 10, ...wasm() }, { age: 9 }) +
      extension("root", { priority: 5, ...wasm() }, { namespace: "istio-system" });
    expect(inbound(yaml)).toEqual(["first", "old~istio-translated-wasmplugin", "young", "root", "negative", "unset"]);
  });

  it("are discovered for Wasm, and inline for Lua", () => {
    const chain = inboundChain(plugin("a") + extension("b", lua));
    expect(managerOf(chain).httpFilters[0].configDiscovery).toEqual({
      configSource: { ads: {}, initialFetchTimeout: "0s", resourceApiVersion: "V3" },
      typeUrls: [
        "type.googleapis.com/envoy.extensions.filters.http.wasm.v3.Wasm",
        "type.googleapis.com/envoy.extensions.filters.http.rbac.v3.RBAC",
      ],
    });
    expect(httpFilterOf(chain, nameOf("b"))).toEqual({
      "@type": "type.googleapis.com/envoy.extensions.filters.http.lua.v3.Lua",
      defaultSourceCode: { inlineString: lua.lua.inlineCode },
    });
  });

  it.each([
    ["CLIENT", [], false, true],
    ["SERVER", [], true, false],
    ["CLIENT_AND_SERVER", [], true, true],
    ["UNDEFINED", [{ number: 8080 }], true, false],
    ["UNDEFINED", [{ number: 80 }], false, true],
    ["SERVER", [{ number: 80 }], false, false],
  ])("apply by mode %s and ports %j", (mode, ports, atServer, atClient) => {
    const yaml = extension("a", { match: [{ mode, ports }], ...wasm() }) + plugin("b", { match: [{ mode, ports }] });
    expect(inbound(yaml)).toHaveLength(atServer ? 2 : 0);
    expect(outbound(yaml)).toHaveLength(atClient ? 2 : 0);
  });

  it("apply to the workloads that are selected, of the namespace or the mesh", () => {
    const at = (spec: object, namespace: string): number =>
      inbound(extension("a", { ...spec, ...lua }, { namespace })).length;
    expect(at({ selector: { matchLabels: { app: "web" } } }, "shop")).toBe(1);
    expect(at({ selector: { matchLabels: { app: "other" } } }, "shop")).toBe(0);
    expect(at({}, "istio-system")).toBe(1);
    expect(at({}, "payments")).toBe(0);
    expect(at({ targetRefs: [{ group: "gateway.networking.k8s.io", kind: "Gateway", name: "web" }] }, "shop")).toBe(0);
  });
});

describe("network filters of extensions", () => {
  const network =
    plugin("net", { type: "NETWORK" }) + extension("tcp", { phase: "AUTHN", ...wasm({ type: "NETWORK" }) });
  const names = [nameOf("tcp"), pluginNameOf("net")];

  it("precede the connection manager and the TCP proxy, and are no HTTP filters", () => {
    expect(networkFilters(inboundChain(network))).toEqual([...names, "envoy.filters.network.http_connection_manager"]);
    expect(inbound(network)).toEqual([]);
    const proxy = new TestMesh(web + network).proxy(stock);
    expect(networkFilters(httpChain(listenerOf(proxy, "0.0.0.0_80")))).toEqual([
      ...names,
      "envoy.filters.network.http_connection_manager",
    ]);
    expect(networkFilters(chainsOf(listenerOf(proxy, "10.96.0.1_90"))[0])).toEqual([
      ...names,
      "envoy.filters.network.tcp_proxy",
    ]);
    expect(networkFilters(inboundChain(network, "9090"))).toEqual([...names, "envoy.filters.network.tcp_proxy"]);
  });

  it("of TCP ports match the port of the service, as in Istio", () => {
    const at = (number: number): string[] =>
      networkFilters(inboundChain(plugin("net", { type: "NETWORK", match: [{ ports: [{ number }] }] }), "9090"));
    expect(at(90)).toContain(pluginNameOf("net"));
    expect(at(9090)).not.toContain(pluginNameOf("net"));
  });

  it("are discovered", () => {
    const [filter] = inboundChain(network).filters;
    expect(filter.configDiscovery.typeUrls).toEqual([
      "type.googleapis.com/envoy.extensions.filters.network.wasm.v3.Wasm",
      "type.googleapis.com/envoy.extensions.filters.network.rbac.v3.RBAC",
    ]);
  });
});

describe("extensions of gateways", () => {
  const gateway = `---
apiVersion: networking.istio.io/v1
kind: Gateway
metadata: {name: front, namespace: edge}
spec:
  selector: {app: front}
  servers:
  - {port: {number: 8000, name: http, protocol: HTTP}, hosts: ["*"]}
`;
  const router = {
    type: "router",
    namespace: "edge",
    name: "front",
    labels: { app: "front" },
    extensions: stock.extensions,
  } as const;

  it("apply as to clients, at the listening port", () => {
    const yaml = (match: object): string =>
      gateway +
      extension("a", { match: [match], ...wasm() }, { namespace: "edge" }) +
      plugin("n", { type: "NETWORK", match: [match] }, { namespace: "edge" });
    const chain = (match: object): Json =>
      chainsOf(listenerOf(new TestMesh(yaml(match)).proxy(router), "0.0.0.0_8000"))[0];
    for (const match of [{ mode: "CLIENT" }, { ports: [{ number: 8000 }] }]) {
      expect(extensionsOf(httpFilterNames(chain(match)))).toHaveLength(1);
      expect(networkFilters(chain(match))[0]).toBe(pluginNameOf("n", "edge"));
    }
    expect(extensionsOf(httpFilterNames(chain({ mode: "SERVER" })))).toEqual([]);
    expect(networkFilters(chain({ mode: "SERVER" }))).toHaveLength(1);
  });

  it("attach to gateways of the Gateway API", () => {
    const targetRefs = [{ group: "gateway.networking.k8s.io", kind: "Gateway", name: "front" }];
    const yaml = gateway + extension("a", { targetRefs, ...wasm() }, { namespace: "edge" });
    const named = { ...router, labels: { app: "front", "gateway.networking.k8s.io/gateway-name": "front" } };
    expect(configNames(new TestMesh(yaml).proxy(named))).toEqual([nameOf("a", "edge")]);
    expect(configNames(new TestMesh(yaml).proxy(router))).toEqual([]);
  });
});

describe("configurations of Wasm extensions", () => {
  const configOf = (yaml: string, name: string): Json =>
    new TestMesh(web + yaml).proxy(stock).json(extensionType, name).typedConfig;

  it("have the fields of the module", () => {
    const yaml = plugin(
      "a",
      {
        url: "example.com/filter:v2",
        sha256: "a".repeat(64),
        imagePullPolicy: "Always",
        pluginName: "root",
        failStrategy: "FAIL_OPEN",
        pluginConfig: { z: "<&>", a: [1, { d: true, c: null }] },
        vmConfig: {
          env: [
            { name: "MODE", value: "fast" },
            { name: "HOME", valueFrom: "HOST" },
          ],
        },
      },
      { metadata: { resourceVersion: "17" } },
    );
    expect(configOf(yaml, pluginNameOf("a"))).toEqual({
      "@type": "type.googleapis.com/envoy.extensions.filters.http.wasm.v3.Wasm",
      config: {
        name: "shop.a~istio-translated-wasmplugin",
        rootId: "root",
        failurePolicy: "FAIL_OPEN",
        configuration: {
          "@type": "type.googleapis.com/google.protobuf.StringValue",
          value: String.raw`{"a":[1,{"c":null,"d":true}],"z":"\u003c\u0026\u003e"}`,
        },
        vmConfig: {
          runtime: "envoy.wasm.runtime.v8",
          code: {
            remote: {
              httpUri: { uri: "oci://example.com/filter:v2", cluster: "_", timeout: "30s" },
              sha256: "a".repeat(64),
            },
          },
          environmentVariables: {
            hostEnvKeys: ["HOME"],
            keyValues: {
              ISTIO_META_WASM_IMAGE_PULL_POLICY: "Always",
              ISTIO_META_WASM_PLUGIN_RESOURCE_VERSION: "17",
              MODE: "fast",
            },
          },
        },
      },
    });
  });

  it("read modules from files of the proxy, and fail closed by default", () => {
    const { config } = configOf(extension("a", wasm({ url: "file:///etc/a.wasm", type: "NETWORK" })), nameOf("a"));
    expect(config).toMatchObject({
      configuration: {},
      failurePolicy: "FAIL_CLOSED",
      vmConfig: { code: { local: { filename: "/etc/a.wasm" } } },
    });
  });

  it("are those of the extensions that apply to the proxy; Lua has none", () => {
    const yaml =
      plugin("a") +
      extension("b", lua) +
      extension("c", { selector: { matchLabels: { app: "other" } }, ...wasm() }) +
      plugin("d", {}, { namespace: "payments" }) +
      plugin("e", {}, { namespace: "istio-system" });
    const proxy = new TestMesh(web + yaml).proxy(stock);
    expect(configNames(proxy)).toEqual([pluginNameOf("e", "istio-system"), pluginNameOf("a")]);
    // By name also those that do not apply any more, but none of other namespaces.
    const lookup = lookups[`type.googleapis.com/${extensionType}`]!;
    const found = (name: string): boolean => proxy.view.call(lookup, name) !== undefined;
    expect(found(nameOf("c"))).toBe(true);
    expect([pluginNameOf("d", "payments"), nameOf("b"), nameOf("none"), "other"].filter(found)).toEqual([]);
  });
});

describe("pull secrets of modules", () => {
  const variable = "ISTIO_META_WASM_IMAGE_PULL_SECRET";
  const secret = (name: string, namespace: string, type = "kubernetes.io/dockerconfigjson"): string =>
    `---\n${JSON.stringify({ apiVersion: "v1", kind: "Secret", metadata: { name, namespace }, type, stringData: { ".dockerconfigjson": `{"of":"${namespace}"}` } })}\n`;
  const secrets =
    secret("pull", "shop") + secret("wrong", "shop", "kubernetes.io/tls") + secret("pull", "istio-system");

  /** Returns the variable in the configuration of a plugin, as a proxy with an identity reads it. */
  function pullSecretOf(spec: object, { namespace = "shop", identity = "shop" } = {}): unknown {
    const verified = identity === "" ? undefined : { namespace: identity, serviceAccount: "web" };
    const proxy = new TestMesh(web + secrets + plugin("a", spec, { namespace })).proxy({
      ...stock,
      identity: verified,
    });
    const { config } = proxy.json(extensionType, pluginNameOf("a", namespace)).typedConfig;
    return config.vmConfig.environmentVariables.keyValues[variable];
  }

  it("are in the configuration for authenticated proxies", () => {
    expect(pullSecretOf({ imagePullSecret: "pull" })).toBe('{"of":"shop"}');
    expect(pullSecretOf({ imagePullSecret: "pull" }, { namespace: "istio-system" })).toBe('{"of":"istio-system"}');
    expect(pullSecretOf({ imagePullSecret: "pull" }, { identity: "" })).toBe("");
    expect(pullSecretOf({ imagePullSecret: "pull" }, { namespace: "istio-system", identity: "" })).toBe("");
    expect(pullSecretOf({ imagePullSecret: "pull" }, { identity: "payments" })).toBe("");
    expect(pullSecretOf({})).toBeUndefined();
  });

  it("are those of the extension's namespace, with the right type", () => {
    expect(pullSecretOf({ imagePullSecret: "kubernetes://istio-system/pull" })).toBe('{"of":"shop"}');
    expect(pullSecretOf({ imagePullSecret: "wrong" })).toBe("");
    expect(pullSecretOf({ imagePullSecret: "none" })).toBe("");
    expect(pullSecretOf({ vmConfig: { env: [{ name: variable, value: "kubernetes://shop/pull" }] } })).toBeUndefined();
  });
});

it("an edit of an extension changes its configuration and no listener; a new one changes listeners", () => {
  const mesh = new TestMesh(web + plugin("a"));
  const proxy = mesh.proxy(stock);
  const listeners = proxy.set("envoy.config.listener.v3.Listener");
  const config = proxy.resource(extensionType, pluginNameOf("a"));
  mesh.apply(plugin("a", { pluginConfig: { b: 1 } }));
  expect(proxy.set("envoy.config.listener.v3.Listener")).toBe(listeners);
  expect(proxy.resource(extensionType, pluginNameOf("a")).version).not.toBe(config.version);
  mesh.apply(plugin("b"));
  expect(proxy.set("envoy.config.listener.v3.Listener")).not.toBe(listeners);
});

it("proxies without extensions of their namespace share listeners", () => {
  expect(managerOf(inboundChain(plugin("a", {}, { namespace: "payments" }))).httpFilters.length).toBe(
    managerOf(inboundChain("")).httpFilters.length,
  );
});
