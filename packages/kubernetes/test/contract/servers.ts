import { type ClusterFaults, startApiServer } from "@istiod/kubernetes/testing";
import { afterAll, beforeAll, beforeEach, describe } from "vitest";
import { type Endpoint, Http } from "./http.js";

interface ContractServer extends Endpoint {
  readonly faults: ClusterFaults;
  stop(): Promise<void>;
}

/** Context of the tests of a contract. */
export interface ContractContext {
  /** Sends requests as the administrator. */
  readonly http: Http;
  readonly url: string;
  readonly faults: ClusterFaults;
  /** A namespace of the test file. */
  readonly namespace: string;
}

/** The parts of `@istiod/cluster` that the contract uses. The package is not a dependency of this one. */
interface ClusterModule {
  startCluster(options: { readonly faults: true }): Promise<{
    readonly url: string;
    readonly token: string;
    readonly certificateAuthority: string;
    readonly faults: ClusterFaults;
    stop(): Promise<void>;
  }>;
  clusterUnavailable(): Promise<string | undefined>;
}

/** A server, or the reason why it cannot run here. */
type Start = () => Promise<ContractServer | string>;

async function startInMemory(): Promise<ContractServer> {
  const { url, tokens, faults, stop } = await startApiServer({ bookmarkIntervalMs: 1000 });
  return { url, token: tokens.admin, faults, stop };
}

async function startReal(): Promise<ContractServer | string> {
  const name = "@istiod/cluster";
  let cluster: ClusterModule;
  try {
    cluster = (await import(name)) as ClusterModule;
  } catch {
    return "there is no package @istiod/cluster";
  }
  const reason = await cluster.clusterUnavailable();
  if (reason !== undefined) return reason;
  const { certificateAuthority: ca, ...server } = await cluster.startCluster({ faults: true });
  return { ca, url: server.url, token: server.token, faults: server.faults, stop: () => server.stop() };
}

const servers: Readonly<Record<string, Start>> = { "in memory": startInMemory, real: startReal };
const namespace = "contract";

/** Defines tests that every API server passes, for the one in memory and for the real one. */
export function contract(title: string, define: (context: ContractContext) => void): void {
  describe.each(Object.entries(servers))(`${title}: %s`, (_, start) => {
    let started: ContractServer | string = "the server did not start";
    const running = (): ContractServer => {
      if (typeof started === "string") throw new Error(started);
      return started;
    };
    let http: Http | undefined;
    beforeAll(async () => {
      started = await start();
      if (typeof started === "string") return;
      http = new Http(started);
      await http.post("/api/v1/namespaces", { metadata: { name: namespace } });
    });
    beforeEach((context) => {
      const reason = started;
      if (typeof reason === "string") context.skip(reason);
    });
    afterAll(async () => {
      if (typeof started !== "string") await started.stop();
    });
    define({
      namespace,
      get http() {
        if (http === undefined) throw new Error("the server did not start");
        return http;
      },
      get url() {
        return running().url;
      },
      get faults() {
        return running().faults;
      },
    });
  });
}

/** Waits until `check` returns a value other than undefined or false. */
export async function eventually<T>(check: () => Promise<T | undefined | false>): Promise<T> {
  const deadline = Date.now() + 20_000;
  for (;;) {
    const value = await check();
    if (value !== undefined && value !== false) return value;
    if (Date.now() > deadline) throw new Error("nothing happened within the deadline");
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
