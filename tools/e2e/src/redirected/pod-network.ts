import { findIptables, findNftables } from "@istiod/iptables-binary";
import {
  type CaptureConfig,
  applyCapture,
  applyNftCapture,
  defaultCaptureConfig,
  localRunner,
  type CommandRunner,
} from "@istiod/redirection";
import type { Subnet } from "../mesh/subnet.js";

/** Networks of pods: a network namespace for each, all on one bridge of this machine. */
export interface PodNetwork {
  /** This machine's address on the bridge. */
  readonly gateway: string;
  /** Returns the command prefix that enters the network of a pod. */
  inside(pod: string): readonly string[];
  /** Creates the network of the nth pod, from 1. */
  add(pod: string, n: number): Promise<void>;
  /** Redirects a pod's traffic to its proxy. */
  capture(pod: string, capture: Partial<CaptureConfig>, rules?: RulesOf): Promise<void>;
  close(): Promise<void>;
}

/** The program that applies rules. */
export type RulesOf = "iptables" | "nftables";

/** Creates the bridge. */
export async function makePodNetwork(subnet: Subnet): Promise<PodNetwork> {
  const bridge = `e2e${subnet.id}`;
  const gateway = subnet.pod(254);
  const pods: string[] = [];
  const namespace = (pod: string): string => `e2e${subnet.id}-${pod}`;
  const inside = (pod: string): readonly string[] => ["ip", "netns", "exec", namespace(pod)];
  await must(localRunner(), `ip link add ${bridge} type bridge`);
  await must(localRunner(), `ip addr add ${gateway}/24 dev ${bridge}`);
  await must(localRunner(), `ip link set ${bridge} up`);
  return {
    gateway,
    inside,
    add: async (pod, n) => {
      const [outer, inner] = [`e${subnet.id}p${n}`, namespace(pod)];
      await must(localRunner(), `ip netns add ${inner}`);
      pods.push(pod);
      await must(localRunner(), `ip link add ${outer} type veth peer name eth0 netns ${inner}`);
      await must(localRunner(), `ip link set ${outer} master ${bridge} up`);
      await must(localRunner(), `ip -n ${inner} link set lo up`);
      await must(localRunner(), `ip -n ${inner} addr add ${subnet.pod(n)}/24 dev eth0`);
      await must(localRunner(), `ip -n ${inner} link set eth0 up`);
      await must(localRunner(), `ip -n ${inner} route add default via ${gateway}`);
    },
    capture: (pod, capture, rules = "iptables") => applyRules(rules, inside(pod), capture),
    close: async () => {
      for (const pod of pods) await localRunner()("ip", ["netns", "del", namespace(pod)]);
      await localRunner()("ip", ["link", "del", bridge]);
    },
  };
}

/** Returns the reason why traffic cannot be redirected on this machine; undefined if it can. */
export async function whyNoRedirection(rules: RulesOf = "iptables"): Promise<string | undefined> {
  if (process.platform !== "linux") return "redirection needs Linux";
  if (process.getuid?.() !== 0) return "redirection needs root";
  if (!(await environmentOf(rules))) return `no ${rules}: install it, or run \`npx istiod-iptables install\``;
  const name = `e2e-try-${process.pid}`;
  const made = await localRunner()("ip", ["netns", "add", name]);
  if (made.code !== 0) return `cannot create network namespaces: ${made.stderr.trim()}`;
  try {
    await applyRules(rules, ["ip", "netns", "exec", name], { outboundRanges: "*", inboundPorts: "*" });
    return undefined;
  } catch (error) {
    return `the kernel does not support the redirection rules: ${(error as Error).message.split("\n")[0]}`;
  } finally {
    await localRunner()("ip", ["netns", "del", name]);
  }
}

function environmentOf(rules: RulesOf): ReturnType<typeof findIptables> {
  return rules === "iptables" ? findIptables() : findNftables();
}

async function applyRules(rules: RulesOf, inside: readonly string[], capture: Partial<CaptureConfig>): Promise<void> {
  const env = await environmentOf(rules);
  if (!env) throw new Error(`no ${rules}: ask whyNoRedirection() first`);
  const run = localRunner(inside, env);
  const config = { ...defaultCaptureConfig, ...capture };
  if (rules === "iptables") await applyCapture(config, { run });
  else await applyNftCapture(config, { run });
}

async function must(run: CommandRunner, line: string): Promise<void> {
  const [command = "", ...args] = line.split(" ");
  const { code, stderr } = await run(command, args);
  if (code !== 0) throw new Error(`${line}: ${stderr.trim()}`);
}
