import { join } from "node:path";
import { mint, uri } from "@istiod/ca/testing";
import { findEnvoy } from "@istiod/envoy-binary";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Agent } from "../src/index.js";
import { NO_ENVOY } from "./agent-fixture.js";
import { recordingLog } from "./recording-log.js";
import { type ClientCredentials, type ServedWorkload, serveWorkload } from "./served-workload.js";
import { noSpire, Spire } from "./spire-process.js";

const envoyPath = await findEnvoy();
const unavailable = noSpire ?? (envoyPath ? undefined : NO_ENVOY);
const workload = "spiffe://example.org/ns/shop/sa/cart";

describe("an agent with a real Envoy next to a real SPIRE agent", () => {
  beforeEach(({ skip }) => skip(unavailable !== undefined, unavailable));
  let spire: Spire | undefined;
  let served: ServedWorkload;
  let agent: Agent | undefined;
  const { log, messages } = recordingLog();

  beforeAll(async () => {
    if (unavailable !== undefined || !envoyPath) return;
    served = await serveWorkload("127.0.77.10");
    const socket = join(served.directory, "var/run/secrets/workload-spiffe-uds/socket");
    spire = await Spire.start(join(served.directory, "spire"), socket, workload);
    agent = await served.startAgent(envoyPath, log);
  }, 180_000);
  afterAll(async () => {
    try {
      await agent?.terminate();
    } finally {
      await spire?.stop();
    }
  });

  /** Calls the application with a client certificate. Returns the names in Envoy's certificate. */
  const call = async (client: ClientCredentials): Promise<string> =>
    (await served.call(client, await spire!.bundle())).subjectaltname ?? "";

  it("serves with SPIRE's certificate, accepts its others only, and uses a renewed one", async () => {
    const client = await spire!.mint("spiffe://example.org/ns/shop/sa/web");
    // A connection may be reset until Envoy has the secrets.
    await expect.poll(() => call(client), { timeout: 20_000 }).toBe(`URI:${workload}`);
    const other = await mint({ ca: true, subject: "CN=other" });
    const stranger = await mint({ issuer: other, names: [uri(workload)] });
    await expect(call({ cert: stranger.pem, key: stranger.keyPem })).rejects.toThrow();

    await spire!.addName(workload, "cart.shop.svc");
    await expect.poll(() => call(client), { timeout: 60_000 }).toBe(`DNS:cart.shop.svc, URI:${workload}`);
    expect(served.refused).toEqual([]);
    expect(messages().filter((line) => line.includes("workload certificate"))).toEqual([]);
  }, 120_000);
});
