import { afterEach, describe, expect, it, vi } from "vitest";
import { readSettings } from "@istiod/settings";
import { iptablesCommand } from "../src/commands/iptables.js";
import { captureTable } from "../src/options/capture-table.js";
import { captureConfig } from "../src/redirection/capture-config.js";

/** Runs the command and returns its output and exit code. */
async function run(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<{ readonly code: number; readonly out: string }> {
  let out = "";
  let code = -1;
  vi.spyOn(process.stdout, "write").mockImplementation((text) => ((out += String(text)), true));
  await iptablesCommand(env, (given) => void (code = given)).parseAsync([...args], { from: "user" });
  return { code, out };
}

describe("pilot-agent istio-iptables", () => {
  afterEach(() => void vi.restoreAllMocks());

  it("accepts the flags of Istio's injection template, and prints rules with --dry-run", async () => {
    const given = [
      "-p",
      "15001",
      "-z",
      "15006",
      "-u",
      "1337",
      "-m",
      "REDIRECT",
      "-i",
      "*",
      "-x",
      "",
      "-b",
      "*",
      "-d",
      "15090,15021,15020",
      "--log_output_level=default:info",
    ];
    const { code, out } = await run([...given, "--dry-run"]);
    expect(code).toBe(0);
    expect(out).toContain(
      "-A ISTIO_INBOUND -p tcp --dport 15020 -j RETURN\n-A ISTIO_INBOUND -p tcp -j ISTIO_IN_REDIRECT\n",
    );
    expect(out).toContain("-A ISTIO_OUTPUT -m owner --gid-owner 1337 -j RETURN\n");
    expect(out).toContain("-A ISTIO_OUTPUT -j ISTIO_REDIRECT\n");
  });

  it("reads variables for flags that are not set", async () => {
    const { out } = await run(["-b", "80", "-n"], {
      ISTIO_INBOUND_PORTS: "81",
      INBOUND_CAPTURE_PORT: "16006",
      ISTIO_OUTBOUND_OWNER_GROUPS: "java",
      ISTIO_META_DNS_CAPTURE: "true",
      CAPTURE_ALL_DNS: "true",
      INVALID_DROP: "true",
    });
    expect(out).toContain("-A ISTIO_INBOUND -p tcp --dport 80 -j ISTIO_IN_REDIRECT\n");
    expect(out).not.toContain("--dport 81");
    expect(out).toContain("-A ISTIO_IN_REDIRECT -p tcp -j REDIRECT --to-ports 16006\n");
    expect(out).toContain("-A ISTIO_OUTPUT -m owner ! --gid-owner java -j RETURN\n");
    expect(out).toContain("-A ISTIO_OUTPUT_DNS -p udp --dport 53 -j REDIRECT --to-port 15053\n");
    expect(out).toContain("-A ISTIO_DROP -j DROP\n");
  });

  it("adds rules for IPv6 if the Pod's first address is IPv6, or any in dual stack", async () => {
    const of = async (env: Readonly<Record<string, string>>, ...addresses: string[]): Promise<boolean> =>
      (await captureConfig(readSettings(captureTable, env), addresses)).ipv6;
    expect(await of({}, "10.0.0.1", "fd00::1")).toBe(false);
    expect(await of({}, "fd00::1", "10.0.0.1")).toBe(true);
    expect(await of({ ISTIO_DUAL_STACK: "true" }, "10.0.0.1", "fd00::1")).toBe(true);
  });

  it.each([
    [["-m", "NONE"], 'invalid value "NONE" for --istio-inbound-interception-mode: expected one of REDIRECT, TPROXY'],
    [
      ["--force-iptables-binary", "old"],
      'invalid value "old" for --force-iptables-binary: expected one of legacy, nft',
    ],
    [["--native-nftables"], "--native-nftables is not supported"],
    [["-b", "http", "-n"], 'inboundPorts: "http": must be a port'],
  ])("rejects %j", async (args, message) => {
    await expect(run(args)).rejects.toThrow(message);
  });
});
