import { create } from "@bufbuild/protobuf";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { configMessageTypeOf, configResources, findConfigType, XdsConfigSource } from "@istiod/config-xds";
import { formatSyncState, Ingestion } from "@istiod/config-ingestion";
import { formatProblem, virtualServices } from "@istiod/config-schema";
import { commitYaml } from "@istiod/config-schema/testing";
import { NodeSchema } from "@istiod/envoy-api/envoy/config/core/v3/base";
import { Database } from "@istiod/incremental";
import { resource, ResourceSet } from "@istiod/resources";
import { createXdsServer, type ResourceSource, type SourceChange, type XdsServer } from "@istiod/xds-server";
import { afterEach, expect, test, vi } from "vitest";

const typeUrl = "networking.istio.io/v1/VirtualService";
const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});
const eventually = (assertion: () => void): Promise<void> => vi.waitFor(assertion, { timeout: 10_000, interval: 10 });
const virtualService = (name: string, host: string): string => `
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: ${name}, namespace: shop}
spec: {hosts: [${name}], http: [{route: [{destination: {host: ${host}}}]}]}
`;

/** A server of the objects of a database, and of any other resources. */
class ConfigServer {
  readonly database = new Database<undefined>();
  readonly others = new Map<string, ResourceSet>();
  #listener: (change: SourceChange<unknown>) => void = () => undefined;
  #server: XdsServer | undefined;
  port = 0;

  async listen(): Promise<void> {
    const view = this.database.view(undefined);
    const source: ResourceSource = {
      ready: () => true,
      open: () => ({}),
      resources: (_, type) => this.others.get(type) ?? view.call(configResources, type),
      messageType: configMessageTypeOf,
      watch: (listener) => {
        this.#listener = listener;
        return () => undefined;
      },
    };
    this.#server = createXdsServer(source);
    const { port } = await this.#server.listen({ host: "127.0.0.1", port: this.port });
    this.port = port;
  }

  changed(): void {
    this.#listener({});
  }

  write(yaml: string): void {
    commitYaml(this.database, yaml);
    this.changed();
  }

  async close(): Promise<void> {
    await this.#server?.close({ graceMs: 0 });
  }
}

async function reader(server: ConfigServer) {
  await server.listen();
  ends.push(() => server.close());
  const source = new XdsConfigSource({
    url: "xds://config",
    transport: createGrpcTransport({ baseUrl: `http://127.0.0.1:${server.port}` }),
    node: create(NodeSchema, { id: "sidecar~127.0.0.1~istiod.istio-system~istio-system.svc.cluster.local" }),
    random: () => 0,
  });
  const database = new Database<undefined>();
  const ingestion = new Ingestion(database, [source], { debounceAfter: 1 });
  ends.push(() => ingestion.stop());
  await ingestion.ready;
  return {
    database,
    ingestion,
    hosts: () =>
      database
        .keys(virtualServices)
        .map((key) => database.read(virtualServices, key)?.spec.http[0]?.route[0]?.destination?.host),
    problems: () => ingestion.problems().map(formatProblem),
    state: () => formatSyncState(source.syncState()),
  };
}

test("the first commit has all objects; edits and deletions follow", async () => {
  const server = new ConfigServer();
  commitYaml(server.database, `${virtualService("a", "one")}---${virtualService("b", "two")}`);
  const mesh = await reader(server);
  expect(mesh.database.stats().revision).toBe(1);
  expect(mesh.hosts()).toEqual(["one", "two"]);
  server.write(virtualService("b", "three"));
  await eventually(() => expect(mesh.hosts()).toEqual(["one", "three"]));
  server.database.commit((tx) => tx.delete(virtualServices, "shop/a"));
  server.changed();
  await eventually(() => expect(mesh.hosts()).toEqual(["three"]));
  expect(mesh.problems()).toEqual([]);
});

test("a lost server leaves the objects, is reported as stale, and is followed again when it is back", async () => {
  const server = new ConfigServer();
  commitYaml(server.database, virtualService("a", "one"));
  const mesh = await reader(server);
  await server.close();
  await eventually(() => expect(mesh.state()).toMatch(/^stale since .* because /));
  expect(mesh.hosts()).toEqual(["one"]);
  commitYaml(server.database, virtualService("a", "two"));
  await server.listen();
  await eventually(() => expect(mesh.hosts()).toEqual(["two"]));
  await eventually(() => expect(mesh.state()).toBe("synced"));
});

test("an object that is rejected keeps its last good version, and others are not affected", async () => {
  const server = new ConfigServer();
  commitYaml(server.database, `${virtualService("a", "one")}---${virtualService("b", "two")}`);
  const mesh = await reader(server);
  const type = findConfigType(typeUrl);
  const [a, b] = server.database.view(undefined).call(configResources, typeUrl).toArray();
  if (type === undefined || a === undefined || b === undefined) throw new Error("there are no resources");
  const damaged = Uint8Array.from(a.bytes);
  // The last byte belongs to the spec.
  damaged[damaged.length - 1] = 0xff;
  server.others.set(typeUrl, ResourceSet.of([resource("shop/a", damaged), b]));
  server.changed();
  await eventually(() =>
    expect(mesh.problems().join("\n")).toContain("VirtualService shop/a: body: cannot be decoded"),
  );
  expect(mesh.hosts()).toEqual(["one", "two"]);
});

test("a resource without a readable name removes nothing", async () => {
  const server = new ConfigServer();
  commitYaml(server.database, virtualService("a", "one"));
  const mesh = await reader(server);
  server.others.set(typeUrl, ResourceSet.of([resource("x", Uint8Array.of(0x0a, 0xff))]));
  server.changed();
  await eventually(() => expect(mesh.problems()).toEqual([`xds://config/${typeUrl}: resource: cannot be decoded`]));
  expect(mesh.hosts()).toEqual(["one"]);
});
