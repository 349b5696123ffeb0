import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { Closers } from "@istiod/runtime";
import { beforeEach, describe, expect, it } from "vitest";
import type { EnvoyExit } from "../src/envoy/process.js";
import { type Agent, type Log, readOptions, silentLog, startAgent } from "../src/index.js";
import { Shutdown, superviseAgent } from "../src/startup/shutdown.js";
import { agentEnv, freePorts } from "./agent-fixture.js";
import { put, scratch } from "./fakes.js";
import { recordingLog } from "./recording-log.js";

const address = "127.0.77.11";
let ports: Record<"status" | "dns" | "admin" | "health" | "prometheus", number>;
let directory: string;

beforeEach(async () => {
  directory = await scratch();
  ports = await freePorts(address, ["status", "dns", "admin", "health", "prometheus"]);
  await put(join(directory, "var/run/secrets/istio/root-cert.pem"), "");
  await put(join(directory, "resolv.conf"), "nameserver 127.0.77.12\n");
});

function start(log: Log, more: Readonly<Record<string, string>> = {}): Promise<Agent> {
  const env = agentEnv({
    address,
    ports,
    istiod: "127.0.0.1:1",
    proxyConfig: { terminationDrainDuration: "0s" },
    more: {
      ISTIO_META_ENABLE_DNS_SERVER: "true",
      DNS_PROXY_ADDR: `${address}:${ports.dns}`,
      DNS_RESOLV_CONF: join(directory, "resolv.conf"),
      ...more,
    },
  });
  return startAgent({ type: "sidecar", options: readOptions({ directory }, env), env, log });
}

async function expectNothingLeft(): Promise<void> {
  for (const file of ["envoy-rev.json", "XDS"])
    expect(existsSync(join(directory, "etc/istio/proxy", file))).toBe(false);
  expect(existsSync(join(directory, "var/run/secrets/workload-spiffe-uds/socket"))).toBe(false);
  for (const port of [ports.status, ports.dns]) {
    const server = createServer();
    await new Promise<void>((resolve, reject) => server.once("error", reject).listen(port, address, resolve));
    await new Promise((resolve) => server.close(resolve));
  }
}

const allClosed = ["status server closed", "xDS proxy closed", "DNS server closed", "SDS server closed"];

describe("agent startup", () => {
  it("closes what earlier phases opened, in reverse order, if Envoy cannot be started", async () => {
    const { log, messages } = recordingLog();
    await expect(start(log, { ENVOY_PATH: "/nope/envoy" })).rejects.toThrow("/nope/envoy");
    expect(messages().filter((message) => message.endsWith(" closed"))).toEqual(allClosed);
    await expectNothingLeft();
  });

  it("closes what the failed phase has opened", async () => {
    const { log, messages } = recordingLog();
    const holder = createServer();
    await new Promise<void>((resolve) => holder.listen(ports.dns, address, resolve));
    await expect(start(log)).rejects.toThrow(`DNS_PROXY_ADDR ${address}:${ports.dns}: address already in use`);
    await new Promise((resolve) => holder.close(resolve));
    expect(messages().filter((message) => message.endsWith(" closed"))).toEqual([
      "DNS server closed",
      "SDS server closed",
    ]);
    await expectNothingLeft();
  });

  it("leaves another agent's bootstrap alone if a phase before Envoy fails", async () => {
    const bootstrap = join(directory, "etc/istio/proxy/envoy-rev.json");
    await put(bootstrap, "{}");
    const holder = createServer();
    await new Promise<void>((resolve) => holder.listen(ports.status, address, resolve));
    await expect(start(silentLog)).rejects.toThrow(`${address}:${ports.status}: address already in use`);
    await new Promise((resolve) => holder.close(resolve));
    expect(existsSync(bootstrap)).toBe(true);
  });
});

describe("agent shutdown", () => {
  it("terminates Envoy first, then closes everything in reverse order", async () => {
    const { log, messages } = recordingLog();
    const binary = join(directory, "envoy");
    await writeFile(binary, "#!/bin/sh\nexec sleep 300\n", { mode: 0o755 });
    const agent = await start(log, { ENVOY_PATH: binary });
    await Promise.all([agent.terminate(), agent.terminate()]);
    expect(await agent.ended).toBeUndefined();
    const expected = ["Agent draining proxy for termination", ...allClosed, "Agent has successfully terminated"];
    expect(messages().filter((message) => expected.includes(message))).toEqual(expected);
    await expectNothingLeft();
  });

  it("starts on POST /quitquitquit", async () => {
    const agent = await start(silentLog, { DISABLE_ENVOY: "true" });
    const response = await fetch(`http://${address}:${ports.status}/quitquitquit`, { method: "POST" });
    expect(response.status).toBe(200);
    expect(await agent.ended).toBeUndefined();
    await expect(agent.checkReady()).rejects.toThrow("the agent is shutting down");
    await expectNothingLeft();
  });

  it("starts after startup if requested during it", async () => {
    const shutdown = new Shutdown();
    shutdown.request();
    const closers = new Closers();
    const closed: string[] = [];
    closers.defer(() => closed.push("server"));
    expect(await superviseAgent({ envoy: undefined, shutdown, closers, log: silentLog })).toBeUndefined();
    expect(closed).toEqual(["server"]);
  });

  it.each<[EnvoyExit, string]>([
    [{ code: 0, signal: null }, "Envoy exited normally"],
    [{ code: 1, signal: null }, "Envoy exited with error: exit status 1"],
    [{ code: null, signal: "SIGKILL" }, "Envoy exited with error: signal SIGKILL"],
  ])("starts when Envoy exits: %j", async (exit, message) => {
    const { log, messages } = recordingLog();
    const shutdown = new Shutdown();
    const envoy = { pid: 1, exited: Promise.resolve(exit), kill: () => undefined };
    expect(await superviseAgent({ envoy, shutdown, closers: new Closers(), log })).toEqual(exit);
    expect(shutdown.isRequested).toBe(true);
    expect(messages()).toEqual([message, "Agent has successfully terminated"]);
  });

  it("completes even if a close function fails, and logs the failure", async () => {
    const { log, messages } = recordingLog();
    const shutdown = new Shutdown();
    const closers = new Closers();
    closers.defer(() => Promise.reject(new Error("no close")));
    shutdown.request();
    await superviseAgent({ envoy: undefined, shutdown, closers, log });
    expect(messages()).toEqual(["shutdown: no close", "Agent has successfully terminated"]);
  });
});
