import { applyMeshConfig, type FieldPath } from "@istiod/config-schema";
import { expect, test } from "vitest";

/** Returns the warnings about a mesh configuration, as `path: message`. */
function warningsOf(document: unknown): readonly string[] {
  const warnings: string[] = [];
  const at = (path: FieldPath): string => path.join(".");
  applyMeshConfig(document, {
    warning: (path, message) => void warnings.push(`${at(path)}: ${message}`),
    error: (path, message) => void warnings.push(`error ${at(path)}: ${message}`),
  });
  return warnings;
}

const provider = (name: string, content: object) => ({ name, ...content });

test.each<[object, string, RegExp]>([
  [{ ca: { address: "ca:80" } }, "ca", /EXTERNAL_CA/],
  [{ certificates: [{ dnsNames: ["a"] }] }, "certificates", /create Secrets/],
  [
    { configSources: [{ address: "k8s://", subscribedResources: [1] }] },
    "configSources.0.subscribedResources",
    /all resources/,
  ],
  [{ defaultConfig: { meshId: "m" } }, "defaultConfig.meshId", /ISTIO_META_MESH_ID/],
  [{ defaultConfig: { zipkinAddress: "z:9411" } }, "defaultConfig.zipkinAddress", /tracing.zipkin.address/],
  [{ defaultConfig: { customConfigFile: "/a" } }, "defaultConfig.customConfigFile", /not supported yet/],
  [
    { defaultConfig: { proxyBootstrapTemplatePath: "/a" } },
    "defaultConfig.proxyBootstrapTemplatePath",
    /not supported yet/,
  ],
  [{ defaultConfig: { tracing: { stackdriver: {} } } }, "defaultConfig.tracing.stackdriver", /extension provider/],
  [
    { defaultConfig: { tracing: { openCensusAgent: { address: "a:1" } } } },
    "defaultConfig.tracing.openCensusAgent",
    /extension provider/,
  ],
  [
    { defaultConfig: { connectionSettings: { clusterPerConnectionBufferLimitBytes: 32768 } } },
    "defaultConfig.connectionSettings.clusterPerConnectionBufferLimitBytes",
    /does not implement/,
  ],
  [
    { extensionProviders: [provider("a", { lightstep: { service: "a.example.com", port: 1, accessToken: "t" } })] },
    "extensionProviders.0.lightstep",
    /set opentelemetry/,
  ],
  [
    {
      extensionProviders: [
        provider("b", { zipkin: { service: "z.example.com", port: 1 } }),
        provider("a", { stackdriver: { debug: true } }),
      ],
    },
    "extensionProviders.1.stackdriver",
    /set opentelemetry/,
  ],
  [
    { extensionProviders: [provider("a", { skywalking: { service: "s.example.com", port: 1, accessToken: "t" } })] },
    "extensionProviders.0.skywalking.accessToken",
    /does not implement/,
  ],
  [
    {
      extensionProviders: [
        provider("a", { envoyExtAuthzGrpc: { service: "s.example.com", port: 1, clearRouteCache: true } }),
      ],
    },
    "extensionProviders.0.envoyExtAuthzGrpc.clearRouteCache",
    /does not implement/,
  ],
])("the mesh configuration %j has a field without effect", (document, path, reason) => {
  const found = warningsOf(document).filter((warning) => warning.includes("has no effect"));
  expect(found).toEqual([expect.stringMatching(reason)]);
  expect(found[0]?.slice(0, found[0].indexOf(": "))).toBe(path);
});

test.each([{}, { defaultConfig: { statusPort: 15020 } }, { extensionProviders: [] }])(
  "the defaults of the mesh configuration are not reported with %j",
  (document) => expect(warningsOf(document)).toEqual([]),
);

test("extension providers are counted as the document has them, and a second one of a name is reported", () => {
  const zipkin = { zipkin: { service: "z.example.com", port: 9411 } };
  const document = {
    extensionProviders: [
      provider("a", zipkin),
      provider("b", { zipkin: { service: "", port: 1 } }),
      provider("a", zipkin),
    ],
  };
  expect(warningsOf(document)).toEqual([
    "extensionProviders.1.zipkin.service: is missing, expected host or namespace/host",
    'extensionProviders.2.name: is "a" a second time, expected unique names',
  ]);
});

test.each([-1, 101])("sampling of %s percent is out of range", (sampling) => {
  expect(warningsOf({ defaultConfig: { tracing: { sampling } } })).toEqual([
    `defaultConfig.tracing.sampling: is ${sampling}, expected a percentage from 0 to 100; the default is used`,
  ]);
});
