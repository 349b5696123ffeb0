import { createConnection, type Socket } from "node:net";
import {
  claimSubnet,
  eventually,
  makePodNetwork,
  type Pod,
  type PodNetwork,
  startPod,
  type Subnet,
  whyNoPods,
  whyNoRedirection,
} from "@istiod/e2e";
import { findNftables } from "@istiod/iptables-binary";
import {
  applyNftCapture,
  type CaptureConfig,
  type CommandRunner,
  defaultCaptureConfig,
  localRunner,
  removeNftCapture,
} from "@istiod/redirection";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";

const reason = (await whyNoRedirection("nftables")) ?? whyNoPods();

/** The user of the process that listens in place of Envoy and the agent. */
const proxyUser = 1337;
const [outbound, inbound, agentDns] = ["15001", "15006", "15053"];

/** Captures everything but the ports of the agent. */
const everything: CaptureConfig = {
  ...defaultCaptureConfig,
  inboundPorts: "*",
  inboundPortsExclude: "15020",
  outboundRanges: "*",
  ipv6: true,
};

describe("traffic of a pod whose rules are those of nftables", () => {
  beforeEach(({ skip }) => skip(reason !== undefined, reason));
  let subnet: Subnet;
  let network: PodNetwork;
  let application: Pod;
  let proxy: Pod;
  let run: CommandRunner;
  const programs = new Set<string>();
  const [podIPv6, gatewayIPv6] = ["fd00:15::1", "fd00:15::254"];

  beforeAll(async () => {
    if (reason) return;
    subnet = await claimSubnet();
    network = await makePodNetwork(subnet);
    await network.add("pod", 1);
    const runInside = localRunner(network.inside("pod"), await findNftables());
    run = (command, ...rest) => {
      programs.add(command);
      return runInside(command, ...rest);
    };
    await localRunner()("ip", ["-6", "addr", "add", `${gatewayIPv6}/64`, "dev", `e2e${subnet.id}`, "nodad"]);
    await runInside("ip", ["-6", "addr", "add", `${podIPv6}/64`, "dev", "eth0", "nodad"]);
    const settings = { version: "", httpPorts: [], http2Ports: [], tcpPorts: [], tlsPorts: [] };
    application = await startPod(network.inside("pod"), {
      ...settings,
      name: "application",
      numberedPorts: [8000, 8001, 15020],
    });
    proxy = await startPod(network.inside("pod"), {
      ...settings,
      name: "proxy",
      numberedPorts: [outbound, inbound, agentDns].map(Number),
      user: proxyUser,
    });
  }, 60_000);
  afterAll(async () => {
    await application?.kill();
    await proxy?.kill();
    await network?.close();
    subnet?.release();
  });

  /** The port that a connection into the pod arrives at. */
  const into = (port: number, host = subnet.pod(1)): Promise<string> =>
    new Promise((resolve, reject) => {
      let answer = "";
      createConnection({ host, port })
        .on("data", (data) => (answer += data.toString()))
        .on("end", () => resolve(answer))
        .on("error", reject);
    });
  /** The port that traffic out of the pod arrives at; an error code if it leaves the pod. */
  const outOf = async (from: Pod, host: string, port: number, kind: "tcp" | "udp" = "tcp") => {
    const { text, error } = await from.order({ kind, host, port, text: "?" });
    return text ?? error;
  };
  const apply = (capture: Partial<CaptureConfig> = {}): Promise<void> =>
    applyNftCapture({ ...everything, ...capture }, { run });
  const ruleset = async (): Promise<string> => (await run("nft", ["-s", "list", "ruleset"])).stdout;

  it("is redirected to the proxy, in both directions, without iptables", async () => {
    await apply();
    expect(await into(8000)).toBe(inbound);
    expect(await outOf(application, network.gateway, 80)).toBe(outbound);
    expect(await outOf(application, subnet.service(1), 80)).toBe(outbound);
    expect(await outOf(proxy, network.gateway, 80)).toBe("ECONNREFUSED");
    expect([...programs].sort()).toEqual(["ip", "nft"]);
  });

  it("is redirected over IPv6", async () => {
    expect(await into(8000, podIPv6)).toBe(inbound);
    expect(await outOf(application, gatewayIPv6, 80)).toBe(outbound);
    expect(await outOf(proxy, gatewayIPv6, 80)).toBe("ECONNREFUSED");
    await apply({ ipv6: false });
    expect(await outOf(application, network.gateway, 80)).toBe(outbound);
  });

  it("of a pod with itself passes the proxy only through its service", async () => {
    expect(await outOf(application, subnet.pod(1), 8000)).toBe("8000");
    expect(await outOf(application, "127.0.0.1", 8000)).toBe("8000");
    expect(await outOf(proxy, subnet.pod(1), 8000)).toBe(inbound);
    expect(await outOf(proxy, "127.0.0.1", 8000)).toBe("8000");
  });

  it("is left alone where a port or range is excluded, or not included", async () => {
    expect(await into(15020)).toBe("15020");
    await apply({ outboundPortsExclude: "80:81", outboundRangesExclude: `${subnet.service(1)}/32` });
    expect(await outOf(application, network.gateway, 81)).toBe("ECONNREFUSED");
    expect(await outOf(application, network.gateway, 82)).toBe(outbound);
    expect(await outOf(application, subnet.service(2), 82)).toBe(outbound);
    await apply({ inboundPorts: "8001", outboundRanges: `${subnet.service(1)}/32`, outboundPorts: "83" });
    expect([await into(8000), await into(8001)]).toEqual(["8000", inbound]);
    expect(await outOf(application, network.gateway, 82)).toBe("ECONNREFUSED");
    expect(await outOf(application, network.gateway, 83)).toBe(outbound);
    expect(await outOf(application, subnet.service(1), 82)).toBe(outbound);
    await apply({ excludeInterfaces: "eth+" });
    expect(await into(8000)).toBe("8000");
  });

  it("to name servers goes to the agent, except for its own", async () => {
    const dns = { redirectDns: true, dnsServers: [network.gateway, gatewayIPv6] };
    await apply(dns);
    for (const server of dns.dnsServers) {
      expect(await outOf(application, server, 53, "udp")).toBe(agentDns);
      expect(await outOf(application, server, 53)).toBe(agentDns);
      expect(await outOf(proxy, server, 53, "udp")).toBe("ECONNREFUSED");
    }
    expect(await outOf(application, subnet.service(1), 53)).toBe(outbound);
    await apply({ redirectDns: true, captureAllDns: true });
    expect(await outOf(application, subnet.service(1), 53)).toBe(agentDns);
    expect(await outOf(application, subnet.service(1), 53, "udp")).toBe(agentDns);
  });

  it("in the conntrack state INVALID is dropped if the configuration says so", async () => {
    const dropped = async (): Promise<string | undefined> =>
      /counter packets (\d+) bytes \d+ drop/.exec((await run("nft", ["list", "ruleset"])).stdout)?.[1];
    await removeNftCapture({ run });
    // Conntrack does not know a connection that is older than the rules; of such a one, a reset is invalid.
    const client = await new Promise<Socket>((resolve) => {
      const socket = createConnection({ host: subnet.pod(1), port: 8000, allowHalfOpen: true });
      socket
        .on("error", () => undefined)
        .once("end", () => resolve(socket))
        .resume();
    });
    await apply({ dropInvalid: true });
    expect(await dropped()).toBe("0");
    client.resetAndDestroy();
    await eventually("the reset is dropped", async () => Number(await dropped()) > 0);
    expect(await into(8000)).toBe(inbound);
  });

  it("has the same rules after a second run, and none after their removal", async () => {
    await apply({ redirectDns: true, captureAllDns: true, dropInvalid: true, inboundMode: "TPROXY" });
    const first = await ruleset();
    expect(first.match(/^table .*$/gm)).toEqual([
      "table inet istio-proxy-nat {",
      "table inet istio-proxy-mangle {",
      "table inet istio-proxy-raw {",
    ]);
    await apply({ redirectDns: true, captureAllDns: true, dropInvalid: true, inboundMode: "TPROXY" });
    expect(await ruleset()).toBe(first);
    await apply();
    expect((await ruleset()).match(/^table .*$/gm)).toEqual(["table inet istio-proxy-nat {"]);
    await run("nft", ["add", "table", "inet", "other"]);
    await removeNftCapture({ run });
    expect(await ruleset()).toBe("table inet other {\n}\n");
    await removeNftCapture({ run });
    expect(await into(8000)).toBe("8000");
  });

  it("keeps its rules if others are not accepted", async () => {
    await apply();
    const before = await ruleset();
    await expect(apply({ ownerGroups: "no-such-group" })).rejects.toThrow("Group does not exist");
    expect(await ruleset()).toBe(before);
  });
});
