import { spawn, spawnSync } from "node:child_process";
import { randomInt } from "node:crypto";
import { afterAll } from "vitest";

/** Another machine: a network namespace that is connected to this one by a pair of interfaces. */
export interface OtherMachine {
  /** This machine's address on the link. */
  readonly localAddress: string;
  /** The other machine's address on the link. */
  readonly address: string;
  /** Runs a Node.js script there. @returns its standard output */
  run(script: string, args: readonly string[]): Promise<string>;
}

/** Creates another machine, which is removed after the file's tests. @returns the reason if that is not possible */
export function otherMachine(): OtherMachine | string {
  const id = randomInt(1, 16_384);
  const name = `agent-test-${id}`;
  const [near, far] = [`agt${id}a`, `agt${id}b`];
  // Networks for benchmarks (RFC 2544), which nothing else on this machine has.
  const [localAddress, address] = [1, 2].map((host) => `198.18.${id >> 6}.${(id & 63) * 4 + host}`) as [string, string];
  const inside = ["netns", "exec", name, "ip"];
  const commands = [
    ["netns", "add", name],
    ["link", "add", near, "type", "veth", "peer", "name", far, "netns", name],
    ["address", "add", `${localAddress}/30`, "dev", near],
    ["link", "set", near, "up"],
    [...inside, "address", "add", `${address}/30`, "dev", far],
    [...inside, "link", "set", far, "up"],
    [...inside, "link", "set", "lo", "up"],
  ];
  for (const command of commands) {
    const { status, stderr, error } = spawnSync("ip", command, { encoding: "utf8", timeout: 10_000 });
    if (status === 0) continue;
    remove(name);
    return `ip ${command.join(" ")}: ${error?.message ?? stderr.trim()}`;
  }
  // The pair of interfaces goes with the namespace.
  afterAll(() => remove(name));
  return {
    localAddress,
    address,
    run: (script, args) =>
      new Promise((resolve, reject) => {
        const command = ["netns", "exec", name, process.execPath, "--input-type=module", "-e", script, ...args];
        const child = spawn("ip", command, { stdio: ["ignore", "pipe", "pipe"] });
        let [output, errors] = ["", ""];
        child.stdout.on("data", (bytes: Buffer) => (output += bytes.toString()));
        child.stderr.on("data", (bytes: Buffer) => (errors += bytes.toString()));
        child.on("error", reject);
        child.on("close", (code) => (code === 0 ? resolve(output) : reject(new Error(errors))));
      }),
  };
}

function remove(name: string): void {
  spawnSync("ip", ["netns", "delete", name], { timeout: 10_000 });
}
