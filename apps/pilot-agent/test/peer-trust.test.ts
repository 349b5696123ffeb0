import { rm, writeFile } from "node:fs/promises";
import http from "node:http";
import https from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { mint, type Minted, mintRevocationList, uri } from "@istiod/ca/testing";
import { findEnvoy } from "@istiod/envoy-binary";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Agent } from "../src/index.js";
import { freePorts, NO_ENVOY, putCredentials, startReadyAgent } from "./agent-fixture.js";
import { application, discovery, inbound } from "./envoy-resources.js";
import { FakeIstiod, put, scratch } from "./fakes.js";
import { recordingLog } from "./recording-log.js";

const envoyPath = await findEnvoy();
const CLIENT = "spiffe://cluster.local/ns/shop/sa/web";

describe("peers of a real Envoy", () => {
  beforeEach(({ skip }) => skip(!envoyPath, NO_ENVOY));
  const address = "127.0.77.10";
  const { log, messages } = recordingLog();
  const seen = { known: [] as Record<string, string>[], refused: [] as string[] };
  let agent: Agent;
  let listFile: string;
  let inboundPort: number;
  /** The root of the authority, and one that only istiod's proxy configuration has. */
  let own: Minted;
  let added: Minted;
  let peers: Record<"own" | "added" | "revoked", Minted>;
  let lists: (revoked?: string) => Promise<string>;

  beforeAll(async () => {
    if (!envoyPath) return;
    const directory = await scratch();
    own = await mint({ ca: true, subject: "CN=own" });
    added = await mint({ ca: true, subject: "CN=added" });
    const app = http.createServer((_, response) => response.end("hello"));
    await new Promise<void>((resolve) => app.listen(0, "127.0.0.1", resolve));
    afterAll(() => app.close());
    const ports = await freePorts(address, ["status", "health", "prometheus", "admin", "inbound"]);
    inboundPort = ports.inbound;
    const istiod = await FakeIstiod.start(
      discovery(
        () => application((app.address() as AddressInfo).port),
        () => inbound(address, ports.inbound),
        seen,
        [added.pem],
      ),
      { root: { certificate: own.pem, privateKey: own.keyPem } },
    );
    peers = {
      own: await mint({ issuer: own, names: [uri(CLIENT)] }),
      added: await mint({ issuer: added, names: [uri(CLIENT)] }),
      revoked: await mint({ issuer: added, names: [uri(CLIENT)] }),
    };
    lists = async (serial) =>
      (await mintRevocationList(own)) + (await mintRevocationList(added, serial ? { revoked: [serial] } : {}));
    await putCredentials(directory, istiod);
    listFile = join(directory, "var/run/secrets/istio/crl/ca-crl.pem");
    await put(listFile, await lists());
    const more = { AGENT_DIRECTORY: directory, SERVICE_ACCOUNT: "cart", PROXY_CONFIG_XDS_AGENT: "true" };
    agent = await startReadyAgent({ address, ports, istiod: `127.0.0.1:${istiod.port}`, envoyPath, more }, log);
  }, 40_000);
  afterAll(() => agent?.terminate());

  /** Connects with a client certificate. Resolves to the response, or to `refused`. */
  const call = (peer: Minted): Promise<string> =>
    new Promise((resolve) => {
      const identity = { key: peer.keyPem, cert: peer.pem, ca: own.pem };
      https
        .get(
          { host: address, port: inboundPort, agent: false, checkServerIdentity: () => undefined, ...identity },
          (response) => response.setEncoding("utf8").on("data", (body: string) => resolve(body)),
        )
        .on("error", () => resolve("refused"));
    });
  const outcomes = async (): Promise<Record<string, string>> => ({
    own: await call(peers.own),
    added: await call(peers.added),
    revoked: await call(peers.revoked),
  });
  const accepted = { own: "hello", added: "hello", revoked: "hello" };

  it("are trusted if they are of the authority's root, or of one that istiod sends (PCDS)", async () => {
    await expect.poll(outcomes, { timeout: 10_000 }).toEqual(accepted);
    expect(await call(await mint({ issuer: await mint({ ca: true }), names: [uri(CLIENT)] }))).toBe("refused");
    expect(seen.refused).toEqual([]);
    expect(messages().filter((line) => line.startsWith("Envoy rejected"))).toEqual([]);
  }, 20_000);

  it("are refused once they are revoked, also while the list is invalid, until it is cleared, and others are not", async () => {
    await writeFile(listFile, await lists(peers.revoked.certificate.serialNumber));
    await expect.poll(outcomes, { timeout: 10_000 }).toEqual({ ...accepted, revoked: "refused" });
    await writeFile(listFile, "half");
    await expect
      .poll(messages, { timeout: 10_000 })
      .toContain(`${listFile} has no PEM block "X509 CRL", keeping the last good revocation lists`);
    expect(await outcomes()).toEqual({ ...accepted, revoked: "refused" });
    await rm(listFile);
    await expect.poll(outcomes, { timeout: 10_000 }).toEqual(accepted);
    await writeFile(listFile, await lists(peers.revoked.certificate.serialNumber));
    await expect.poll(outcomes, { timeout: 10_000 }).toEqual({ ...accepted, revoked: "refused" });
    await writeFile(listFile, await lists());
    await expect.poll(outcomes, { timeout: 10_000 }).toEqual(accepted);
    expect(seen.refused).toEqual([]);
    expect(messages().filter((line) => line.startsWith("Envoy rejected"))).toEqual([]);
  }, 40_000);
});
