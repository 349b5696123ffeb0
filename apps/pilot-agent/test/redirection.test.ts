import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it, vi } from "vitest";
import { readSettings } from "@istiod/settings";
import { cleanIptablesCommand, iptablesCommand } from "../src/commands/iptables.js";
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

  it("prints the transaction of nftables with --native-nftables", async () => {
    const { code, out } = await run(["-b", "80,8000:8010", "-i", "*", "--native-nftables", "--dry-run"]);
    expect(code).toBe(0);
    expect(out.split("\n").slice(0, 2)).toEqual(["add table inet istio-proxy-nat", "flush table inet istio-proxy-nat"]);
    expect(out).toContain("istio-inbound meta l4proto tcp tcp dport 8000-8010 counter jump istio-in-redirect\n");
    expect(out).toContain("add rule inet istio-proxy-nat istio-output counter jump istio-redirect\n");
    expect((await run(["-n"], { NATIVE_NFTABLES: "true" })).out).toContain("add table inet istio-proxy-nat\n");
  });

  it.each([
    ["istio-iptables", ["--cleanup-only"]],
    ["istio-clean-iptables", []],
  ])("%s %j removes the tables by nft alone", async (name, args) => {
    const directory = await mkdtemp(join(tmpdir(), "nft-"));
    await writeFile(join(directory, "nft"), `#!/bin/sh\nexec /bin/cat >${join(directory, "transaction")}\n`, {
      mode: 0o755,
    });
    const command = { "istio-iptables": iptablesCommand, "istio-clean-iptables": cleanIptablesCommand }[name];
    const codes: number[] = [];
    await command?.({ PATH: directory }, (code) => codes.push(code)).parseAsync([...args, "--native-nftables"], {
      from: "user",
    });
    expect(codes).toEqual([0]);
    expect(await readFile(join(directory, "transaction"), "utf8")).toBe(
      ["nat", "mangle", "raw"]
        .map((table) => `add table inet istio-proxy-${table}\ndelete table inet istio-proxy-${table}\n`)
        .join(""),
    );
    await rm(directory, { recursive: true });
  });

  it("names nft if it is missing", async () => {
    await expect(run(["-b", "80", "--native-nftables"], { PATH: "/nowhere" })).rejects.toThrow(
      /nft cannot be run: .*; install nftables 1\.0\.1 or later/,
    );
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
    [["-b", "http", "-n"], 'inboundPorts: "http": must be a port'],
  ])("rejects %j", async (args, message) => {
    await expect(run(args)).rejects.toThrow(message);
  });
});
