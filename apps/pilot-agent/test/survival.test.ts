import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { stat } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { create } from "@bufbuild/protobuf";
import { anyPack } from "@bufbuild/protobuf/wkt";
import { findEnvoy } from "@istiod/envoy-binary";
import { NameTableSchema } from "@istiod/istio-api/networking/nds/v1/nds";
import { nameTableType } from "@istiod/resources";
import { decode, encode } from "dns-packet";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { exchangeUdp } from "../src/dns/exchange.js";
import { killAll, listTree, type ProcessInfo } from "../src/testing/index.js";
import { agentEnv, freePorts, NO_ENVOY, NOT_BUILT, putCredentials } from "./agent-fixture.js";
import { type Ads, FakeIstiod, put, scratch } from "./fakes.js";

const envoyPath = await findEnvoy();
const main = fileURLToPath(new URL("../dist/main.js", import.meta.url));
const address = "127.0.77.9";
const table = create(NameTableSchema, { table: { "cart.example": { ips: ["10.0.0.1"], registry: "External" } } });
const ads: Ads = {
  async *deltaAggregatedResources(requests) {
    for await (const { typeUrl, responseNonce } of requests) {
      if (responseNonce !== "") continue;
      const resources =
        typeUrl === nameTableType ? [{ name: "", version: "1", resource: anyPack(NameTableSchema, table) }] : [];
      yield { typeUrl, nonce: "1", resources };
    }
  },
};

/** Sends a datagram from port 0 with a raw socket. @returns false without permission */
function sendFromPortZero(port: number, payload: Buffer): boolean {
  const datagram = Buffer.concat([Buffer.alloc(8), payload]);
  datagram.writeUInt16BE(port, 2);
  datagram.writeUInt16BE(datagram.length, 4);
  const script = `import socket,sys
s=socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_UDP)
s.sendto(bytes.fromhex(sys.argv[1]), (sys.argv[2], 0))`;
  return spawnSync("python3", ["-c", script, datagram.toString("hex"), address], { timeout: 10_000 }).status === 0;
}

describe("the agent process with a real Envoy", () => {
  beforeEach(({ skip }) => {
    skip(!envoyPath, NO_ENVOY);
    skip(!existsSync(main), NOT_BUILT);
  });
  let tree: ProcessInfo[] = [];
  let child: ChildProcess | undefined;
  afterEach(() => {
    killAll(child?.pid === undefined ? tree : [...tree, ...listTree(child.pid)]);
    child?.kill("SIGKILL");
  });

  it("survives datagrams from port 0 and errors that nothing handles, and is not ended through Envoy's health port", async () => {
    const directory = await scratch();
    const istiod = await FakeIstiod.start(ads);
    await putCredentials(directory, istiod);
    await put(join(directory, "resolv.conf"), "search example\n");
    const script = join(directory, "fail-on-signal.mjs");
    await put(
      script,
      `process.on("SIGUSR2", () => {
        void Promise.reject(new Error("forgotten promise"));
        setImmediate(() => { throw new Error("thrown in a callback"); });
      });`,
    );
    const ports = await freePorts(address, ["status", "health", "prometheus", "admin", "dns"]);
    const env = agentEnv({
      address,
      ports,
      istiod: `127.0.0.1:${istiod.port}`,
      envoyPath,
      proxyConfig: { terminationDrainDuration: "0s" },
      more: {
        ISTIO_META_DNS_CAPTURE: "true",
        DNS_PROXY_ADDR: `${address}:${ports.dns}`,
        DNS_RESOLV_CONF: join(directory, "resolv.conf"),
      },
    });
    child = spawn(process.execPath, ["--import", script, main, "proxy", "sidecar", "--directory", directory], {
      env,
      stdio: ["ignore", "ignore", "pipe"],
    });
    const agent = child;
    let log = "";
    agent.stderr!.setEncoding("utf8").on("data", (text: string) => (log += text));
    const ready = (timeout: number): Promise<void> =>
      vi.waitFor(
        async () => expect((await fetch(`http://${address}:${ports.status}/healthz/ready`)).status).toBe(200),
        { timeout, interval: 50 },
      );
    await ready(30_000);
    tree = listTree(agent.pid!);
    const query = encode({ type: "query", id: 1, questions: [{ type: "A", name: "cart.example" }] });
    const metric = async (name: string): Promise<string | undefined> => {
      const text = await (await fetch(`http://${address}:${ports.status}/metrics`)).text();
      return text.split("\n").find((line) => line.startsWith(`istio_agent_${name}`));
    };

    for (const socket of ["var/run/secrets/workload-spiffe-uds/socket", "etc/istio/proxy/XDS"])
      expect(((await stat(join(directory, socket))).mode & 0o777).toString(8), socket).toBe("600");

    const runtime = await (await fetch(`http://${address}:${ports.admin}/runtime`)).json();
    expect(runtime).toMatchObject({ entries: { "re2.max_program_size.error_level": { final_value: "32768" } } });

    agent.kill("SIGUSR2");
    await expect.poll(() => metric("unexpected_errors_total")).toBe("istio_agent_unexpected_errors_total 2");
    expect(log).toContain("forgotten promise");
    expect(log).toContain("thrown in a callback");

    const answer = await new Promise<string>((resolve, reject) => {
      const socket = connect(ports.health, address, () =>
        socket.write("POST /healthz/ready/../../quitquitquit HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n"),
      );
      let received = "";
      socket.setEncoding("utf8").on("data", (text: string) => (received += text));
      socket.on("error", reject).on("close", () => resolve(received));
    });
    expect(answer).toMatch(/^HTTP\/1\.1 4\d\d/);

    const hasSent = sendFromPortZero(ports.dns, query);
    if (hasSent)
      await expect
        .poll(() => metric("dns_rejected_total"))
        .toBe('istio_agent_dns_rejected_total{reason="port_zero"} 1');
    const response = await exchangeUdp({
      server: { address, port: ports.dns },
      message: query,
      timeout: 5000,
      isResponse: () => true,
    });
    expect(decode(response).answers).toMatchObject([{ data: "10.0.0.1" }]);
    await ready(1000);
    expect(agent.exitCode).toBeNull();
    expect(listTree(agent.pid!).filter(({ command }) => command.startsWith(envoyPath!))).toHaveLength(1);
  }, 60_000);
});
