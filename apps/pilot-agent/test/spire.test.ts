import http from "node:http";
import https from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type tls from "node:tls";
import { mint, uri } from "@istiod/ca/testing";
import { findEnvoy } from "@istiod/envoy-binary";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Agent } from "../src/index.js";
import { type AgentPorts, freePorts, NO_ENVOY, putCredentials, startReadyAgent } from "./agent-fixture.js";
import { application, discovery, inbound } from "./envoy-resources.js";
import { FakeIstiod, scratch } from "./fakes.js";
import { recordingLog } from "./recording-log.js";
import { noSpire, Spire } from "./spire-process.js";

const envoyPath = await findEnvoy();
const unavailable = noSpire ?? (envoyPath ? undefined : NO_ENVOY);
const workload = "spiffe://example.org/ns/shop/sa/cart";

describe("an agent with a real Envoy next to a real SPIRE agent", () => {
  beforeEach(({ skip }) => skip(unavailable !== undefined, unavailable));
  const address = "127.0.77.10";
  let spire: Spire | undefined;
  let ports: AgentPorts & { readonly inbound: number };
  let agent: Agent | undefined;
  const seen = { known: [] as Record<string, string>[], refused: [] as string[] };
  const { log, messages } = recordingLog();

  beforeAll(async () => {
    if (unavailable !== undefined || !envoyPath) return;
    const directory = await scratch();
    ports = await freePorts(address, ["status", "health", "prometheus", "admin", "inbound"]);
    const app = http.createServer((_, response) => response.end("hello"));
    await new Promise<void>((resolve) => app.listen(0, "127.0.0.1", resolve));
    afterAll(() => app.close());
    const istiod = await FakeIstiod.start(
      discovery(
        () => application((app.address() as AddressInfo).port),
        () => inbound(address, ports.inbound),
        seen,
      ),
    );
    await putCredentials(directory, istiod);
    const socket = join(directory, "var/run/secrets/workload-spiffe-uds/socket");
    spire = await Spire.start(join(directory, "spire"), socket, workload);
    const more = { AGENT_DIRECTORY: directory, SERVICE_ACCOUNT: "cart" };
    agent = await startReadyAgent({ address, ports, istiod: `127.0.0.1:${istiod.port}`, envoyPath, more }, log);
  }, 180_000);
  afterAll(async () => {
    try {
      await agent?.terminate();
    } finally {
      await spire?.stop();
    }
  });

  /** Calls the application with a client certificate. Resolves to the names in Envoy's certificate. */
  const call = async (client: { readonly cert: string; readonly key: string }): Promise<string> => {
    const ca = await spire!.bundle();
    const to = { host: address, port: ports.inbound, agent: false, checkServerIdentity: () => undefined } as const;
    return new Promise((resolve, reject) => {
      https
        .get({ ...to, ...client, ca }, (response) => {
          const { subjectaltname = "" } = (response.socket as tls.TLSSocket).getPeerCertificate();
          response.resume().on("end", () => resolve(subjectaltname));
        })
        .on("error", reject);
    });
  };

  it("serves with SPIRE's certificate, accepts its others only, and uses a renewed one", async () => {
    const client = await spire!.mint("spiffe://example.org/ns/shop/sa/web");
    expect(await call(client)).toBe(`URI:${workload}`);
    const other = await mint({ ca: true, subject: "CN=other" });
    const stranger = await mint({ issuer: other, names: [uri(workload)] });
    await expect(call({ cert: stranger.pem, key: stranger.keyPem })).rejects.toThrow();

    await spire!.addName(workload, "cart.shop.svc");
    await expect.poll(() => call(client), { timeout: 60_000 }).toBe(`DNS:cart.shop.svc, URI:${workload}`);
    expect(seen.refused).toEqual([]);
    expect(messages().filter((line) => line.includes("workload certificate"))).toEqual([]);
  }, 120_000);
});
