import { findIptables } from "@istiod/iptables-binary";
import { createNamespaces, type Namespaces, runCommand } from "./commands.js";

/** Next hop of all pods, which every interface of the router answers for. */
const NEXT_HOP = "169.254.1.1";
/** Addresses of cluster IPs of `@istiod/cluster`. */
const SERVICE_RANGE = "10.96.0.0/16";
const FIRST_RANGE = 244;
const LAST_RANGE = 200;

/** The network of all pods: each has a network namespace, and a router between them has one too. */
export interface PodNetwork {
  /** The address of this machine for pods. */
  readonly hostAddress: string;
  /** The start of pods' addresses, such as `10.244`. */
  readonly range: string;
  /** Creates a pod's network namespace. */
  attach(address: string, hostname: string, sysctls: readonly Sysctl[]): Promise<Namespaces>;
  /** Replaces the address translation of the router. */
  translate(rules: string): Promise<void>;
  close(): Promise<void>;
}

export interface Sysctl {
  readonly name: string;
  readonly value: string;
}

/**
 * Creates the router. This machine gets an interface to it, and routes to the pods and, unless another program has
 * that route, to cluster IPs. All of it ends with this process.
 */
export async function createPodNetwork(): Promise<PodNetwork> {
  const env = await findIptables();
  if (!env) throw new Error("no iptables: install it, or run `npx istiod-iptables install`");
  const router = await createNamespaces("router");
  try {
    const range = await connectHost(router);
    let interfaces = 0;
    return {
      hostAddress: `${range}.255.1`,
      range,
      attach: (address, hostname, sysctls) => attachPod(router, `p${++interfaces}`, { address, hostname, sysctls }),
      translate: async (rules) => {
        await runCommand([...router.enter, "iptables-nft-restore"], { input: rules, env });
      },
      close: router.close,
    };
  } catch (error) {
    await router.close();
    throw error;
  }
}

/** Connects this machine to the router. Returns the first range of addresses that no other cluster has. */
async function connectHost(router: Namespaces): Promise<string> {
  const name = `istn${process.pid}`;
  const forward = "echo 1 > /proc/sys/net/ipv4/ip_forward";
  await runCommand([...router.enter, "sh", "-c", forward]);
  await runCommand(["ip", "link", "add", name, "type", "veth", "peer", "name", "host", "netns", String(router.pid)]);
  for (let second = FIRST_RANGE; second >= LAST_RANGE; second--) {
    const range = `10.${second}`;
    const [host, via] = [`${range}.255.1`, `${range}.255.2`];
    await runCommand(["ip", "link", "set", name, "up"]);
    // A route is added by one process only, which makes the range its own.
    const route = ["ip", "route", "add", `${range}.0.0/16`, "dev", name, "scope", "link"];
    const isOwn = await runCommand(route).then(
      () => true,
      (error: Error) => {
        if (!error.message.includes("File exists")) throw error;
        return false;
      },
    );
    if (!isOwn) continue;
    await runCommand(["ip", "addr", "add", host, "peer", via, "dev", name]);
    await runCommand(["ip", "route", "replace", `${range}.0.0/16`, "via", via, "dev", name, "src", host]);
    await batch(router, [`addr add ${via} peer ${host} dev host`, "link set host up"]);
    await runCommand(["ip", "route", "add", SERVICE_RANGE, "via", via, "dev", name]).catch(() => undefined);
    return range;
  }
  throw new Error(`all ranges of addresses from 10.${LAST_RANGE} to 10.${FIRST_RANGE} are routed already`);
}

interface PodInterface {
  readonly address: string;
  readonly hostname: string;
  readonly sysctls: readonly Sysctl[];
}

async function attachPod(router: Namespaces, name: string, pod: PodInterface): Promise<Namespaces> {
  const namespaces = await createNamespaces(pod.hostname);
  try {
    await batch(router, [
      `link add ${name} type veth peer name eth0 netns ${namespaces.pid}`,
      `addr add ${NEXT_HOP}/32 dev ${name}`,
      `link set ${name} up`,
    ]);
    await batch(namespaces, [
      `addr add ${pod.address}/32 dev eth0`,
      "link set eth0 up",
      `route add ${NEXT_HOP} dev eth0 scope link`,
      `route add default via ${NEXT_HOP} dev eth0`,
    ]);
    await batch(router, [`route replace ${pod.address}/32 dev ${name}`]);
    for (const { name: sysctl, value } of pod.sysctls)
      await runCommand([...namespaces.enter, "sh", "-c", 'echo "$1" > "$0"', sysctlPath(sysctl), value]);
    return namespaces;
  } catch (error) {
    await namespaces.close();
    throw error;
  }
}

/** @throws Error unless the setting belongs to a network namespace */
function sysctlPath(name: string): string {
  if (!/^net(\.[a-z0-9_]+)+$/.test(name)) throw new Error(`sysctl ${name}: only those of net are supported`);
  return `/proc/sys/${name.replaceAll(".", "/")}`;
}

async function batch(inside: Namespaces, lines: readonly string[]): Promise<void> {
  await runCommand([...inside.enter, "ip", "-batch", "-"], { input: `${lines.join("\n")}\n` });
}
