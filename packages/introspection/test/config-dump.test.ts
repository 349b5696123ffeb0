import { create, type DescMessage, fromBinary, type MessageInitShape, toBinary, toJson } from "@bufbuild/protobuf";
import { anyPack } from "@bufbuild/protobuf/wkt";
import { ClusterSchema } from "@istiod/envoy-api/envoy/config/cluster/v3/cluster";
import { TypedExtensionConfigSchema } from "@istiod/envoy-api/envoy/config/core/v3/extension";
import { ListenerSchema } from "@istiod/envoy-api/envoy/config/listener/v3/listener";
import { RouteConfigurationSchema } from "@istiod/envoy-api/envoy/config/route/v3/route";
import { WasmSchema } from "@istiod/envoy-api/envoy/extensions/filters/http/wasm/v3/wasm";
import { SecretSchema } from "@istiod/envoy-api/envoy/extensions/transport_sockets/tls/v3/secret";
import { messageRegistry } from "@istiod/explain";
import { resource, type Resource, ResourceSet } from "@istiod/resources";
import {
  clusterType,
  type Connection,
  extensionConfigType,
  listenerType,
  routeType,
  secretType,
} from "@istiod/xds-server";
import { expect, test } from "vitest";
import { configDump, configDumpMessages } from "@istiod/introspection";

function encoded<D extends DescMessage>(schema: D, init: MessageInitShape<D> & { readonly name: string }): Resource {
  return resource(init.name, toBinary(schema, create(schema, init)));
}

function connectionWith(sent: Readonly<Record<string, readonly Resource[]>>): Connection {
  const subscriptions = Object.entries(sent).map(([typeUrl, resources]) => ({
    typeUrl,
    sent: ResourceSet.of(resources),
    versionSent: `version of ${typeUrl}`,
  }));
  return { subscriptions } as unknown as Connection;
}

test("the messages of a dump are those of its JSON, and have no private key", async () => {
  const key = "very private";
  const inline = { specifier: { case: "inlineString", value: key } } as const;
  const environmentVariables = { keyValues: { ISTIO_META_WASM_IMAGE_PULL_SECRET: key, MODE: "fast" } };
  const wasm = create(WasmSchema, { config: { vm: { case: "vmConfig", value: { environmentVariables } } } });
  const connection = connectionWith({
    [clusterType]: [encoded(ClusterSchema, { name: "a" }), encoded(ClusterSchema, { name: "b", altStatName: "c" })],
    [listenerType]: [encoded(ListenerSchema, { name: "l", statPrefix: "p" })],
    [routeType]: [encoded(RouteConfigurationSchema, { name: "80", virtualHosts: [{ name: "v", domains: ["*"] }] })],
    [secretType]: [
      encoded(SecretSchema, { name: "s", type: { case: "tlsCertificate", value: { privateKey: inline } } }),
    ],
    [extensionConfigType]: [
      encoded(TypedExtensionConfigSchema, { name: "e" }),
      encoded(TypedExtensionConfigSchema, { name: "w", typedConfig: anyPack(WasmSchema, wasm) }),
    ],
  });
  const registry = messageRegistry();
  const { configs } = await configDump(connection, registry, false);
  const messages = await configDumpMessages(connection, registry);
  const decoded = messages.map(({ typeUrl, bytes }) => {
    const schema = registry.getMessage(typeUrl.slice(typeUrl.lastIndexOf("/") + 1))!;
    return { "@type": typeUrl, ...(toJson(schema, fromBinary(schema, bytes), { registry }) as object) };
  });
  expect(decoded).toEqual(configs);
  expect(configs).toHaveLength(7);
  expect(JSON.stringify(configs)).toContain(
    '"keyValues":{"ISTIO_META_WASM_IMAGE_PULL_SECRET":"[redacted]","MODE":"fast"}',
  );
  const private64 = Buffer.from(key).toString("base64");
  for (const text of [JSON.stringify(configs), ...messages.map(({ bytes }) => Buffer.from(bytes).toString())]) {
    expect(text).not.toContain(key);
    expect(text).not.toContain(private64);
  }
});

test("the event loop has turns while a large dump is built", async () => {
  const clusters = Array.from({ length: 20_000 }, (_, n) => encoded(ClusterSchema, { name: `cluster ${n}` }));
  const connection = connectionWith({ [clusterType]: clusters });
  const registry = messageRegistry();
  let turns = 0;
  let isBuilt = false;
  const count = (): void => void (isBuilt || (turns++, setImmediate(count)));
  setImmediate(count);
  const startedAt = performance.now();
  await configDump(connection, registry, false);
  isBuilt = true;
  // One in 20 ms, with a reserve for a busy machine.
  expect(turns).toBeGreaterThan((performance.now() - startedAt) / 100);
  expect(turns).toBeGreaterThan(1);
});
