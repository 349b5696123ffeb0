import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createRegistry, fromJson } from "@bufbuild/protobuf";
import { anyPack } from "@bufbuild/protobuf/wkt";
import { type Listener, ListenerSchema } from "@istiod/envoy-api/envoy/config/listener/v3/listener";
import { registry as envoyTypes } from "@istiod/envoy-api/registry";
import { findEnvoy } from "@istiod/envoy-binary";
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { killAll, listTree, type ProcessInfo, startInTerminal, stillRunning } from "../src/testing/index.js";
import { agentEnv, exitOf, freePorts, NO_ENVOY, NOT_BUILT, putCredentials } from "./agent-fixture.js";
import { type Ads, FakeIstiod, scratch } from "./fakes.js";

const envoyPath = await findEnvoy();
const main = fileURLToPath(new URL("../dist/main.js", import.meta.url));
const address = "127.0.77.3";
const registry = createRegistry(envoyTypes);
const hasPython = spawnSync("python3", ["--version"]).status === 0;

/** Builds a listener with a direct response and an access log. */
function directResponse(port: number, logPath: string): Listener {
  const type = (name: string): string => `type.googleapis.com/envoy.extensions.${name}`;
  const accessLog = {
    name: "envoy.access_loggers.file",
    typedConfig: {
      "@type": type("access_loggers.file.v3.FileAccessLog"),
      path: logPath,
      logFormat: { textFormatSource: { inlineString: "access %REQ(:PATH)% %RESPONSE_CODE%\n" } },
    },
  };
  const route = { match: { prefix: "/" }, directResponse: { status: 200, body: { inlineString: "hello" } } };
  const manager = {
    "@type": type("filters.network.http_connection_manager.v3.HttpConnectionManager"),
    statPrefix: "directResponse",
    accessLog: [accessLog],
    routeConfig: { virtualHosts: [{ name: "all", domains: ["*"], routes: [route] }] },
    httpFilters: [
      { name: "envoy.filters.http.router", typedConfig: { "@type": type("filters.http.router.v3.Router") } },
    ],
  };
  const filter = { name: "envoy.filters.network.http_connection_manager", typedConfig: manager };
  return fromJson(
    ListenerSchema,
    {
      name: "directResponse",
      address: { socketAddress: { address, portValue: port } },
      filterChains: [{ filters: [filter] }],
    },
    { registry },
  );
}

describe("the agent process with a real Envoy", () => {
  beforeEach(({ skip }) => {
    skip(!envoyPath, NO_ENVOY);
    skip(!existsSync(main), NOT_BUILT);
  });
  let istiod: FakeIstiod;
  let directory: string;
  let logPath = "/dev/stdout";
  let ports: Record<"status" | "health" | "prometheus" | "admin" | "directResponse", number>;
  const refused: string[] = [];
  const ads: Ads = {
    async *deltaAggregatedResources(requests) {
      for await (const { typeUrl, responseNonce, errorDetail } of requests) {
        if (errorDetail) refused.push(errorDetail.message);
        if (responseNonce !== "") continue;
        const listeners = [
          {
            name: "directResponse",
            version: "1",
            resource: anyPack(ListenerSchema, directResponse(ports.directResponse, logPath)),
          },
        ];
        yield { typeUrl, nonce: "1", resources: typeUrl.endsWith("Listener") ? listeners : [] };
      }
    },
  };
  const env = (): Record<string, string> =>
    agentEnv({
      address,
      ports,
      istiod: `127.0.0.1:${istiod.port}`,
      envoyPath,
      proxyConfig: { fileFlushInterval: "0.1s", terminationDrainDuration: "0.5s" },
    });
  const command = (): string[] => [process.execPath, main, "proxy", "sidecar", "--directory", directory];
  const ready = (): Promise<void> =>
    vi.waitFor(async () => expect((await fetch(`http://${address}:${ports.status}/healthz/ready`)).status).toBe(200), {
      timeout: 20_000,
      interval: 50,
    });
  let tree: ProcessInfo[] = [];
  let started: ChildProcess | undefined;

  beforeAll(async () => {
    if (!envoyPath) return;
    directory = await scratch();
    ports = await freePorts(address, ["status", "health", "prometheus", "admin", "directResponse"]);
    istiod = await FakeIstiod.start(ads);
    await putCredentials(directory, istiod);
  });
  afterEach(() => {
    killAll(started?.pid === undefined ? tree : [...tree, ...listTree(started.pid)]);
    started?.kill("SIGKILL");
    started = undefined;
    tree = [];
  });

  it.each(["stdout", "stderr"] as const)(
    "copies Envoy's access log line by line if %s is a socket",
    async (name) => {
      logPath = `/dev/${name}`;
      const child = spawn(process.execPath, command().slice(1), { env: env(), stdio: ["ignore", "pipe", "pipe"] });
      started = child;
      const exited = exitOf(child);
      const said = { stdout: "", stderr: "" };
      for (const output of ["stdout", "stderr"] as const)
        child[output].setEncoding("utf8").on("data", (text: string) => (said[output] += text));
      await ready();
      tree = listTree(child.pid!);
      const paths = Array.from({ length: 50 }, (_, n) => `/${name}-${n}`);
      for (const path of paths)
        expect(await (await fetch(`http://${address}:${ports.directResponse}${path}`)).text()).toBe("hello");
      const logged = (): string[] => said[name].split("\n").filter((line) => line.startsWith("access "));
      await expect.poll(logged, { timeout: 10_000 }).toEqual(paths.map((path) => `access ${path} 200`));
      expect(refused).toEqual([]);

      await fetch(`http://${address}:${ports.directResponse}/last`);
      child.kill("SIGTERM");
      expect(await exited).toBe(0);
      expect(logged().at(-1)).toBe("access /last 200");
      expect(stillRunning(tree)).toEqual([]);
    },
    60_000,
  );

  it.each(["SIGTERM", "SIGHUP", "SIGINT", "SIGKILL"] as const)(
    "leaves no process behind on %s",
    async (signal) => {
      const child = spawn(process.execPath, command().slice(1), { env: env(), stdio: "ignore" });
      started = child;
      const exited = exitOf(child);
      await ready();
      tree = listTree(child.pid!);
      expect(tree.filter(({ command: line }) => line.startsWith(envoyPath!))).toHaveLength(1);
      child.kill(signal);
      expect(await exited).toBe(signal === "SIGKILL" ? "SIGKILL" : 0);
      await expect.poll(() => stillRunning(tree), { timeout: 5000 }).toEqual([]);
    },
    60_000,
  );

  it("leaves no process behind when its terminal is closed", async ({ skip }) => {
    skip(!hasPython, "no python3, which opens the terminal");
    const { terminal, pid } = await startInTerminal(command(), env());
    started = terminal;
    await ready();
    tree = listTree(pid);
    expect(tree.filter(({ command: line }) => line.startsWith(envoyPath!))).toHaveLength(1);
    terminal.stdin?.write("close\n");
    await expect.poll(() => stillRunning(tree), { timeout: 5000 }).toEqual([]);
    expect(existsSync(join(directory, "etc/istio/proxy/XDS")), "ended gracefully").toBe(false);
  }, 60_000);

  it("names the process that listens on the agent's port", async () => {
    const holder = spawn(
      process.execPath,
      ["-e", `require("node:net").createServer().listen(${ports.status}, "${address}", () => console.log("up"))`],
      { stdio: ["ignore", "pipe", "inherit"] },
    );
    started = holder;
    await new Promise((resolve) => holder.stdout.once("data", resolve));
    const { stderr, status } = spawnSync(process.execPath, command().slice(1), {
      env: env(),
      encoding: "utf8",
      timeout: 20_000,
    });
    expect(stderr).toContain(
      `pilot-agent: statusPort of PROXY_CONFIG ${address}:${ports.status}: address already in use by pid ${holder.pid} (`,
    );
    expect(status).toBe(1);
  });
});
