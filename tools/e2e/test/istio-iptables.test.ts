import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { claimSubnet, makePodNetwork, type PodNetwork, type Subnet, whyNoPods, whyNoRedirection } from "@istiod/e2e";
import { findIptables } from "@istiod/iptables-binary";
import { localRunner, type CommandResult } from "@istiod/redirection";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";

const reason = (await whyNoRedirection()) ?? whyNoPods();
const agent = join(
  dirname(createRequire(import.meta.url).resolve("@istiod/pilot-agent/package.json")),
  "bin/pilot-agent.js",
);
const everything = [
  "-p",
  "15001",
  "-z",
  "15006",
  "-u",
  String(process.getuid?.()),
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
];

describe("pilot-agent istio-iptables, in a pod", () => {
  beforeEach(({ skip }) => skip(reason !== undefined, reason));
  let subnet: Subnet;
  let network: PodNetwork;
  let env: Awaited<ReturnType<typeof findIptables>>;
  beforeAll(async () => {
    if (reason) return;
    subnet = await claimSubnet();
    env = await findIptables();
    network = await makePodNetwork(subnet);
    await network.add("pod", 1);
  });
  afterAll(async () => {
    await network?.close();
    subnet?.release();
  });

  const run = (...args: string[]): Promise<CommandResult> =>
    localRunner(network.inside("pod"), env)(process.execPath, [agent, "istio-iptables", ...args]);
  const validated = (timeout: string, ...args: string[]): Promise<CommandResult> =>
    run("--run-validation", "--probe-timeout", timeout, ...args);

  /** The result of a successful command that logs one line. */
  const logged = (message: string): CommandResult => ({
    code: 0,
    stdout: "",
    stderr: expect.stringMatching(new RegExp(`^\\S+\\tinfo\\t${message}\\n$`)) as string,
  });

  it("tells by its exit code that traffic is not captured", async () => {
    const { code, stderr } = await validated("500ms", "--skip-rule-apply");
    expect(code).toBe(126);
    expect(stderr).toContain("traffic is not redirected");
  }, 30_000);

  it("captures it, once", async () => {
    expect(await validated("10s", ...everything)).toEqual(logged("rules: applied"));
    expect(await run(...everything)).toEqual(logged("rules: unchanged"));
    expect(await run(...everything, "--log_output_level=error")).toEqual({ code: 0, stdout: "", stderr: "" });
  }, 30_000);

  it("replaces what an earlier run made, and removes it", async () => {
    const fewer = everything.map((word) => (word === "15090,15021,15020" ? "15090" : word));
    expect((await run(...fewer)).code).toBe(1);
    expect(await run(...fewer, "--reconcile")).toEqual(logged("rules: applied"));
    expect((await run(...fewer, "--cleanup-only")).code).toBe(0);
    const { stdout } = await localRunner(network.inside("pod"), env)("iptables-nft-save", []);
    expect(stdout).not.toContain("ISTIO_");
    expect(stdout).not.toContain("DROP");
  }, 30_000);
});
