import { type ClusterFaults, startApiServer } from "@istiod/kubernetes/testing";
import { afterAll, beforeAll, describe } from "vitest";
import { type Endpoint, Http } from "./http.js";

export interface ContractServer extends Endpoint {
  readonly faults: ClusterFaults;
  stop(): Promise<void>;
}

/** Context of the tests of a contract. */
export interface ContractContext {
  readonly http: Http;
  readonly faults: ClusterFaults;
  /** A namespace of the test file. */
  readonly namespace: string;
}

async function startInMemory(): Promise<ContractServer> {
  const server = await startApiServer({ bookmarkIntervalMs: 200 });
  return { url: server.url, token: server.tokens.admin, faults: server.faults, stop: () => server.stop() };
}

/** Defines tests that every API server passes, for the one in memory and the real one. */
export function contract(title: string, define: (context: ContractContext) => void): void {
  describe(`${title}: in memory`, () => {
    let server: ContractServer | undefined;
    let http: Http | undefined;
    const namespace = "contract";
    beforeAll(async () => {
      server = await startInMemory();
      http = new Http(server);
      await http.post("/api/v1/namespaces", { metadata: { name: namespace } });
    });
    afterAll(() => server?.stop());
    define({
      namespace,
      get http() {
        return http!;
      },
      get faults() {
        return server!.faults;
      },
    });
  });
}
