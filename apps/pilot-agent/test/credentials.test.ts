import { createServer, type IncomingMessage } from "node:http";
import { readFile, stat } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { FakeClock } from "@istiod/runtime/testing";
import { afterAll, describe, expect, it } from "vitest";
import { InstanceToken } from "../src/credentials/instance-token.js";
import { readOptions } from "../src/index.js";
import { AgentError } from "../src/errors.js";
import { FakeIstiod, scratch, TOKEN } from "./fakes.js";
import { startedAgent } from "./proxyless-agent.js";
import { recordingLog } from "./recording-log.js";

const MINUTE = 60_000;

/** Returns an unsigned token that expires at a time in milliseconds. */
function tokenUntil(expiry: number | undefined, id = 0): string {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
  return [part({ alg: "none" }), part({ id, ...(expiry !== undefined && { exp: expiry / 1000 }) }), ""].join(".");
}

/** A metadata server whose responses are given by status and body. */
async function metadataServer(respond: (call: number) => { readonly status?: number; readonly body: string }) {
  const requests: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    requests.push(request);
    const { status = 200, body } = respond(requests.length);
    response.writeHead(status).end(body);
  });
  afterAll(() => server.close());
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { host: `127.0.0.1:${(server.address() as AddressInfo).port}`, requests };
}

async function instanceToken(respond: Parameters<typeof metadataServer>[0]) {
  const clock = new FakeClock(Date.UTC(2030, 0, 1));
  const file = join(await scratch(), "tokens", "istio-token");
  const { host, requests } = await metadataServer(respond);
  const { log, messages } = recordingLog();
  const token = new InstanceToken({ host, audience: "cluster.local", file, clock, log });
  return { clock, file, host, requests, token, messages };
}

describe("the token of an instance", () => {
  it("is requested for the trust domain, and written for other programs", async () => {
    const issued = tokenUntil(Date.UTC(2030, 0, 1) + 60 * MINUTE);
    const { file, requests, token } = await instanceToken(() => ({ body: `${issued}\n` }));
    expect(await token.read()).toBe(issued);
    expect(requests.map(({ url, headers }) => [url, headers["metadata-flavor"]])).toEqual([
      ["/computeMetadata/v1/instance/service-accounts/default/identity?audience=cluster.local&format=full", "Google"],
    ]);
    expect(await readFile(file, "utf8")).toBe(issued);
    expect((await stat(file)).mode & 0o777).toBe(0o640);
  });

  it("is used until 25 minutes before it expires, and renewed in the background then", async () => {
    const { clock, file, requests, token } = await instanceToken((call) => ({
      body: tokenUntil(Date.UTC(2030, 0, 1) + call * 60 * MINUTE, call),
    }));
    const first = await token.read();
    expect(await token.read()).toBe(first);
    expect(requests).toHaveLength(1);
    token.start();
    clock.advance(30 * MINUTE);
    await clock.advanceSettled(0);
    expect(requests).toHaveLength(1);
    clock.advance(5 * MINUTE);
    await expect.poll(() => readFile(file, "utf8")).not.toBe(first);
    expect(requests).toHaveLength(2);
    token.stop();
    expect(clock.pending).toEqual([]);
  });

  it.each([["without expiry", tokenUntil(undefined)] as const, ["that is no JWT", "opaque"] as const])(
    "%s is requested for each use",
    async (_, body) => {
      const { requests, token } = await instanceToken(() => ({ body }));
      await token.read();
      expect(await token.read()).toBe(body);
      expect(requests).toHaveLength(2);
    },
  );

  it("is requested again five times after a passing failure", async () => {
    const issued = tokenUntil(Date.UTC(2030, 0, 1) + 60 * MINUTE);
    const { clock, requests, token } = await instanceToken((call) =>
      call <= 5 ? { status: call === 1 ? 429 : 503, body: "" } : { body: issued },
    );
    const read = token.read();
    for (let retries = 1; retries <= 5; retries++) {
      await expect.poll(() => [requests.length, clock.pending.length]).toEqual([retries, 1]);
      clock.advance(clock.pending[0]!);
    }
    expect(await read).toBe(issued);
    expect(requests).toHaveLength(6);
  });

  it.each<[{ readonly status?: number; readonly body: string }, string]>([
    [{ status: 404, body: "" }, "HTTP status 404"],
    [{ status: 302, body: "" }, "unexpected redirect"],
    [{ body: "" }, "the response is not a token"],
    [{ body: "a token\nx: y" }, "the response is not a token"],
    [{ body: "x".repeat(65 * 1024) }, "the response is larger than 65536 bytes"],
  ])("%j is an error", async (response, reason) => {
    const { host, clock, token } = await instanceToken(() => response);
    const read = token.read();
    const failed = expect(read).rejects.toThrow(
      new AgentError("authority", `metadata server ${host}: no identity token of the instance: ${reason}`),
    );
    if (response.status === 302)
      for (let retries = 0; retries < 5; retries++) {
        await expect.poll(() => clock.pending.length).toBe(1);
        clock.advance(clock.pending[0]!);
      }
    await failed;
  });

  it("stays in use while the metadata server fails, until it expires", async () => {
    const issued = tokenUntil(Date.UTC(2030, 0, 1) + 60 * MINUTE);
    const { clock, host, token, messages } = await instanceToken((call) =>
      call === 1 ? { body: issued } : { status: 404, body: "" },
    );
    await token.read();
    clock.advance(59 * MINUTE);
    expect(await token.read()).toBe(issued);
    expect(messages()).toEqual([
      `metadata server ${host}: no identity token of the instance: HTTP status 404, keeping the token of the instance until it expires`,
    ]);
    clock.advance(MINUTE);
    await expect(token.read()).rejects.toThrow("HTTP status 404");
  });
});

describe("CREDENTIAL_FETCHER_TYPE", () => {
  it("of an unknown kind ends the agent", () => {
    expect(() => readOptions({}, { CREDENTIAL_FETCHER_TYPE: "aws" })).toThrow(
      'invalid value "aws" for CREDENTIAL_FETCHER_TYPE: expected one of JWT, GoogleComputeEngine, Mock',
    );
    expect(readOptions({}, { CREDENTIAL_FETCHER_TYPE: "" }).credentialFetcher).toBe("JWT");
  });

  it("GoogleComputeEngine authenticates requests to the authority and to istiod", async () => {
    const istiod = await FakeIstiod.start();
    const { host } = await metadataServer(() => ({ body: TOKEN }));
    const { agent, metric } = await startedAgent(istiod, {
      env: { CREDENTIAL_FETCHER_TYPE: "GoogleComputeEngine", GCE_METADATA_HOST: host },
      token: undefined,
    });
    await expect.poll(() => metric('num_outgoing_requests{request_type="CSR"}')).toBe(1);
    expect(await metric('num_failed_outgoing_requests{request_type="CSR"}')).toBeUndefined();
    expect(istiod.headers.map(({ authorization }) => authorization)).toEqual([`Bearer ${TOKEN}`]);
    await agent.terminate();
  });

  it("Mock sends a constant, which no authority accepts", async () => {
    const istiod = await FakeIstiod.start();
    const { agent, messages } = await startedAgent(istiod, { env: { CREDENTIAL_FETCHER_TYPE: "Mock" } });
    await expect.poll(() => istiod.headers[0]?.authorization).toBe("Bearer test_token");
    await expect
      .poll(() => messages())
      .toContain(
        `failed to get certificate: certificate authority 127.0.0.1:${istiod.port} did not authenticate the token in CREDENTIAL_FETCHER_TYPE=Mock`,
      );
    await agent.terminate();
  });

  it("JWT reads the token of any JWT_POLICY from the file, with a warning for another than third-party-jwt", async () => {
    const istiod = await FakeIstiod.start();
    const { agent, messages, metric } = await startedAgent(istiod, { env: { JWT_POLICY: "first-party-jwt" } });
    expect(messages()).toContain("JWT_POLICY=first-party-jwt is treated as third-party-jwt");
    await expect.poll(() => metric('num_outgoing_requests{request_type="CSR"}')).toBe(1);
    expect(istiod.headers[0]?.authorization).toBe(`Bearer ${TOKEN}`);
    await agent.terminate();
  });
});
