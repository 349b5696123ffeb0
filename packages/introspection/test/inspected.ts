import { YamlMesh } from "@istiod/config-schema/testing";
import { clusterStates, type DebugAnswer, debugCommands, type DebugOptions } from "@istiod/introspection";
import { MeshSource, readProxy } from "@istiod/mesh-source";
import type { Proxy } from "@istiod/push-context";
import { createXdsServer } from "@istiod/xds-server";
import { XdsClient, type XdsClientOptions } from "@istiod/xds-server/testing";
import { pino } from "pino";
import { onTestFinished } from "vitest";

/** A mesh that is served over xDS in this process, with the debug commands about it and its proxies. */
export async function inspected(yaml: string) {
  const mesh = new YamlMesh<Proxy>(yaml);
  const source = new MeshSource({ database: mesh.db, log: pino({ level: "silent" }) });
  const server = createXdsServer(source);
  const { host, port } = await server.listen({ host: "127.0.0.1", port: 0 });
  onTestFinished(() => server.close({ graceMs: 0 }));
  // The commands about changes and findings have tests of their own.
  const absent = { changes: {}, status: {}, analysis: {} } as Pick<DebugOptions, "changes" | "status" | "analysis">;
  const commands = debugCommands({
    ...absent,
    database: mesh.db,
    server,
    proxyOf: ({ node }) => source.clientOf(node)?.proxy ?? readProxy(node),
    instance: { id: "istiod-1", version: "0.1.0" },
    canDisconnect: false,
    profile: false,
    faults: () => ({}),
    clusters: () => clusterStates("Kubernetes", []),
    clients: () => server.nodes().flatMap((node) => source.clientOf(node) ?? []),
    proxies: () => [],
    problems: () => [],
    gathering: () => false,
    unread: async () => [],
    injectionTemplates: () => undefined,
  });
  return {
    mesh,
    connect(options: XdsClientOptions): XdsClient {
      const client = new XdsClient({ host, port }, options);
      onTestFinished(() => client.close());
      return client;
    },
    /** Returns the JSON of the answer to a command with its query, such as `syncz?namespace=shop`. */
    async debug(command: string): Promise<unknown> {
      const [name = "", query = ""] = command.split("?");
      const answer: DebugAnswer | undefined = await commands
        .find((each) => each.name === name)
        ?.answer({ query: new URLSearchParams(query), namespace: undefined });
      if (answer === undefined || !("json" in answer)) throw new Error(`${command}: ${JSON.stringify(answer)}`);
      return JSON.parse(JSON.stringify(answer.json)) as unknown;
    },
  };
}
