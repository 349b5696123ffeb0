import { afterAll } from "vitest";
import { silentLog } from "../src/log.js";
import { agentMetrics } from "../src/status/metrics.js";
import { StatusServer, type StatusServerOptions } from "../src/status/status-server.js";

/** Starts a status server of an agent without applications on a free port, until the tests of the file have run. */
export async function startStatusServer(more: Partial<StatusServerOptions> = {}): Promise<StatusServer> {
  const server = new StatusServer({
    port: 0,
    address: "127.0.0.1",
    ready: async () => undefined,
    quit: () => undefined,
    drain: () => undefined,
    metrics: agentMetrics(),
    applications: [],
    applicationHost: "127.0.0.1",
    log: silentLog,
    ...more,
  });
  await server.start();
  afterAll(() => server.close());
  return server;
}
