import { randomUUID } from "node:crypto";
import http2 from "node:http2";
import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { connect, createServer } from "node:net";
import { dirname, join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { anyPack } from "@bufbuild/protobuf/wkt";
import { createClient } from "@connectrpc/connect";
import { connectNodeAdapter, createGrpcTransport } from "@connectrpc/connect-node";
import { mint, type Minted, uri } from "@istiod/ca/testing";
import { SecretSchema } from "@istiod/envoy-api/envoy/extensions/transport_sockets/tls/v3/secret";
import { type DiscoveryRequest } from "@istiod/envoy-api/envoy/service/discovery/v3/discovery";
import { SecretDiscoveryService } from "@istiod/envoy-api/envoy/service/secret/v3/sds";
import { findEnvoy } from "@istiod/envoy-binary";
import { secretType } from "@istiod/resources";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Agent } from "../src/index.js";
import { NO_ENVOY } from "./agent-fixture.js";
import { FakeIstiod, put, scratch } from "./fakes.js";
import { startedAgent } from "./proxyless-agent.js";
import { recordingLog } from "./recording-log.js";
import { type ServedWorkload, serveWorkload } from "./served-workload.js";

const envoyPath = await findEnvoy();
const SPIFFE_ID = "spiffe://example.org/ns/shop/sa/cart";
const SOCKETS = "var/run/secrets/workload-spiffe-uds";
const FILES_SOCKET = "var/run/secrets/credential-uds/files-socket";

/**
 * The SDS server of a SPIRE agent for one workload: `default` is its X.509 SVID, and `ROOTCA` the bundle of its trust
 * domain. Only StreamSecrets and FetchSecrets exist. A response has all requested names, and is repeated on rotation.
 */
class FakeSpireAgent {
  readonly requested: string[] = [];
  readonly rejected: string[] = [];
  readonly #rotations = new Set<() => void>();
  #server: http2.Http2Server | undefined;
  readonly #sessions = new Set<http2.ServerHttp2Session>();

  constructor(
    readonly authority: Minted,
    private svid: Minted,
  ) {}

  async listen(socket: string): Promise<void> {
    await mkdir(dirname(socket), { recursive: true });
    const handler = connectNodeAdapter({
      routes: (router) =>
        router.service(SecretDiscoveryService, { streamSecrets: (requests) => this.#stream(requests) }),
    });
    this.#server = http2.createServer(handler);
    this.#server.on("session", (session) => this.#sessions.add(session));
    await new Promise<void>((resolve) => this.#server!.listen(socket, resolve));
    afterAll(() => this.stop());
  }

  async stop(): Promise<void> {
    for (const session of this.#sessions) session.destroy();
    await new Promise<void>((resolve) => (this.#server ? this.#server.close(() => resolve()) : resolve()));
    this.#server = undefined;
  }

  /** Replaces the SVID, and sends it to all streams. */
  rotate(svid: Minted): void {
    this.svid = svid;
    for (const notify of this.#rotations) notify();
  }

  async *#stream(requests: AsyncIterable<DiscoveryRequest>) {
    let names: readonly string[] = [];
    let nonce = "";
    const events: ("request" | "rotation" | "end")[] = [];
    let wake: () => void = () => undefined;
    const put = (event: (typeof events)[number]): void => (events.push(event), wake());
    const rotation = (): void => put("rotation");
    this.#rotations.add(rotation);
    void (async () => {
      for await (const request of requests) {
        if (request.errorDetail) this.rejected.push(request.errorDetail.message);
        if (nonce !== "" && request.responseNonce === nonce) continue;
        names = request.resourceNames;
        this.requested.push(...names);
        put("request");
      }
      put("end");
    })().catch(() => put("end"));
    try {
      for (;;) {
        while (events.length === 0) await new Promise<void>((resolve) => (wake = resolve));
        if (events.shift() === "end") return;
        nonce = randomUUID();
        yield { typeUrl: secretType, versionInfo: nonce, nonce, resources: names.map((name) => this.#secret(name)) };
      }
    } finally {
      this.#rotations.delete(rotation);
    }
  }

  #secret(name: string) {
    const inline = (text: string) => ({ specifier: { case: "inlineBytes" as const, value: Buffer.from(text) } });
    if (name !== "default" && name !== "ROOTCA") throw new Error(`workload is not authorized for ${name}`);
    return anyPack(
      SecretSchema,
      create(SecretSchema, {
        name,
        type:
          name === "default"
            ? {
                case: "tlsCertificate",
                value: { certificateChain: inline(this.svid.pem), privateKey: inline(this.svid.keyPem) },
              }
            : { case: "validationContext", value: { trustedCa: inline(this.authority.pem) } },
      }),
    );
  }
}

const issue = (issuer: Minted, id = SPIFFE_ID): Promise<Minted> => mint({ issuer, names: [uri(id)] });

async function spireAgent(): Promise<FakeSpireAgent> {
  const authority = await mint({ ca: true, subject: "CN=spire" });
  return new FakeSpireAgent(authority, await issue(authority));
}

/** Requests a secret from a socket. Resolves to the kind of the first one, or to the reason. */
async function secretFrom(socket: string, name: string): Promise<string | undefined> {
  const abort = new AbortController();
  const transport = createGrpcTransport({
    baseUrl: "http://agent",
    nodeOptions: { createConnection: () => connect(socket) },
  });
  async function* requests() {
    yield { resourceNames: [name], typeUrl: secretType };
    await new Promise((resolve) => abort.signal.addEventListener("abort", resolve));
  }
  try {
    for await (const { resources } of createClient(SecretDiscoveryService, transport).streamSecrets(requests(), {
      signal: abort.signal,
    }))
      return resources[0]?.typeUrl;
    return undefined;
  } catch (error) {
    return (error as Error).message;
  } finally {
    abort.abort();
  }
}

describe("an agent next to the SDS server of another program", () => {
  it.each([
    ["socket", {}],
    ["spire.sock", { WORKLOAD_IDENTITY_SOCKET_FILE: "spire.sock" }],
  ])("in %s serves files only, and requests no certificate", async (file, env) => {
    const [istiod, spire, directory] = [await FakeIstiod.start(), await spireAgent(), await scratch()];
    await spire.listen(join(directory, SOCKETS, file));
    await put(join(directory, "ca.pem"), spire.authority.pem);
    const started = await startedAgent(istiod, { directory, env: { ...env, OUTPUT_CERTS: "out" } });
    const { agent, messages, metric } = started;
    const files = join(directory, FILES_SOCKET);
    expect(await secretFrom(files, "file-root:ca.pem")).toBe(secretType);
    expect(await secretFrom(files, "default")).toContain("no workload certificate in");
    expect(await secretFrom(join(directory, SOCKETS, file), "default")).toBe(secretType);
    expect(existsSync(join(directory, "out"))).toBe(false);
    expect(messages()).toContain("OUTPUT_CERTS is ignored: another process has the workload's certificate");
    expect(await metric('num_outgoing_requests{request_type="CSR"}')).toBeUndefined();
    await agent.terminate();
    // The socket of the other program stays, the agent's own does not.
    expect(await secretFrom(join(directory, SOCKETS, file), "default")).toBe(secretType);
    expect(existsSync(files)).toBe(false);
  });

  it("ends if WORKLOAD_IDENTITY_SOCKET_FILE has no socket, or one that nobody serves gRPC on", async () => {
    const istiod = await FakeIstiod.start();
    const directory = await scratch();
    const start = () => startedAgent(istiod, { directory, env: { WORKLOAD_IDENTITY_SOCKET_FILE: "spire.sock" } });
    const socket = join(directory, SOCKETS, "spire.sock");
    const reason = `WORKLOAD_IDENTITY_SOCKET_FILE: no process serves certificates on ${socket}`;
    await expect(start()).rejects.toThrow(reason);
    await mkdir(dirname(socket), { recursive: true });
    const mute = createServer((connection) => connection.on("error", () => undefined).resume());
    await new Promise<void>((resolve) => mute.listen(socket, resolve));
    afterAll(() => mute.close());
    await expect(start()).rejects.toThrow(reason);
  });

  it("does not replace a socket in the default place that somebody serves without gRPC", async () => {
    const istiod = await FakeIstiod.start();
    const directory = await scratch();
    const socket = join(directory, SOCKETS, "socket");
    await mkdir(dirname(socket), { recursive: true });
    const mute = createServer((connection) => connection.on("error", () => undefined).resume());
    await new Promise<void>((resolve) => mute.listen(socket, resolve));
    afterAll(() => mute.close());
    await expect(startedAgent(istiod, { directory })).rejects.toThrow(`socket ${socket} is served by another process`);
  });
});

describe("an agent with a real Envoy next to the SDS server of another program", () => {
  beforeEach(({ skip }) => skip(!envoyPath, NO_ENVOY));
  let spire: FakeSpireAgent;
  let served: ServedWorkload;
  let agent: Agent;
  const { log, messages } = recordingLog();

  beforeAll(async () => {
    if (!envoyPath) return;
    served = await serveWorkload("127.0.77.9");
    spire = await spireAgent();
    await spire.listen(join(served.directory, SOCKETS, "socket"));
    agent = await served.startAgent(envoyPath, log);
  }, 40_000);
  afterAll(() => agent?.terminate());

  /** Calls the application with a client certificate. Returns the identity and serial number in Envoy's certificate. */
  const call = async (client: Minted): Promise<string> => {
    const { subjectaltname = "", serialNumber } = await served.call(
      { key: client.keyPem, cert: client.pem },
      spire.authority.pem,
    );
    return `${subjectaltname} ${serialNumber}`;
  };

  it("gives it the certificate of the other program, and that after a rotation", async () => {
    const client = await issue(spire.authority, "spiffe://example.org/ns/shop/sa/web");
    expect(await call(client)).toMatch(`URI:${SPIFFE_ID} `);
    expect([...new Set(spire.requested)].sort()).toEqual(["ROOTCA", "default"]);
    const stranger = await issue(await mint({ ca: true, subject: "CN=other" }), SPIFFE_ID);
    await expect(call(stranger)).rejects.toThrow();

    const next = await issue(spire.authority);
    spire.rotate(next);
    await expect
      .poll(() => call(client), { timeout: 10_000 })
      .toBe(`URI:${SPIFFE_ID} ${next.certificate.serialNumber}`);
    expect([spire.rejected, served.refused]).toEqual([[], []]);
    expect(messages().filter((line) => line.includes("workload certificate"))).toEqual([]);
  }, 30_000);
});
