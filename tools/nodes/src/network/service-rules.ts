import { createHash } from "node:crypto";
import type { EndpointSlice, Service, ServicePort } from "../kube/objects.js";

/** Marks connections of a pod to itself through a cluster IP, which need another source address. */
const HAIRPIN = "0x4000/0x4000";

/** Translates addresses of endpoints, such as that of an API server on the loopback address of this machine. */
export type Translation = (address: string) => string;

/**
 * Builds the input of `iptables-restore` that sends connections for cluster IPs, load balancers' addresses and external
 * IPs to ready endpoints at random, as kube-proxy does. Without ready endpoints, those that serve while they terminate
 * are used; without any, connections are refused by nobody and time out.
 */
export function serviceRules(
  services: readonly Service[],
  slicesOf: (service: Service) => readonly EndpointSlice[],
  translate: Translation,
): string {
  const chains: string[] = [];
  const rules: string[] = [];
  for (const service of services) {
    const addresses = serviceAddresses(service);
    if (addresses.length === 0) continue;
    for (const port of service.spec.ports ?? []) {
      const protocol = (port.protocol ?? "TCP").toLowerCase();
      if (protocol !== "tcp" && protocol !== "udp") continue;
      const targets = targetsOf(port, slicesOf(service)).map(({ address, port }) => ({
        address: translate(address),
        port,
      }));
      if (targets.length === 0) continue;
      const id = `${service.metadata.namespace}/${service.metadata.name}:${port.name ?? ""}`;
      const chain = chainName("SVC", `${id}${protocol}`);
      chains.push(chain);
      for (const address of addresses)
        for (const from of ["PREROUTING", "OUTPUT"])
          rules.push(`-A ${from} -d ${address}/32 -p ${protocol} --dport ${port.port} -j ${chain}`);
      targets.forEach((target, index) => {
        const to = `${target.address}:${target.port}`;
        const endpoint = chainName("SEP", `${id}${protocol}${to}`);
        const rest = targets.length - index;
        const chance = rest > 1 ? ` -m statistic --mode random --probability ${(1 / rest).toFixed(10)}` : "";
        chains.push(endpoint);
        rules.push(
          `-A ${chain}${chance} -j ${endpoint}`,
          `-A ${endpoint} -s ${target.address}/32 -j MARK --set-xmark ${HAIRPIN}`,
          `-A ${endpoint} -p ${protocol} -j DNAT --to-destination ${to}`,
        );
      });
    }
  }
  const builtIn = ["PREROUTING", "INPUT", "OUTPUT", "POSTROUTING"].map((name) => `:${name} ACCEPT [0:0]`);
  const own = [...new Set(chains)].map((name) => `:${name} - [0:0]`);
  const masquerade = `-A POSTROUTING -m mark --mark ${HAIRPIN} -j MASQUERADE`;
  return `${["*nat", ...builtIn, ...own, ...rules, masquerade, "COMMIT"].join("\n")}\n`;
}

/** Returns the IPv4 addresses at which a Service is reached. */
function serviceAddresses({ spec, status }: Service): string[] {
  const { clusterIP = "", type } = spec;
  if (clusterIP === "None" || type === "ExternalName") return [];
  const ingress = (status?.loadBalancer?.ingress ?? []).map(({ ip }) => ip ?? "");
  return [clusterIP, ...ingress].filter((address) => /^\d+(\.\d+){3}$/.test(address));
}

interface Target {
  readonly address: string;
  readonly port: number;
}

/** Returns the endpoints of a Service's port: ready ones, or else those that serve while they terminate. */
function targetsOf({ name = "" }: ServicePort, slices: readonly EndpointSlice[]): Target[] {
  const ready = new Map<string, Target>();
  const terminating = new Map<string, Target>();
  for (const { addressType, endpoints, ports } of slices) {
    const port = ports?.find((candidate) => (candidate.name ?? "") === name)?.port;
    if (addressType !== "IPv4" || port === undefined) continue;
    for (const { addresses, conditions } of endpoints ?? []) {
      const isReady = conditions?.ready !== false;
      if (!isReady && !(conditions?.serving && conditions.terminating)) continue;
      for (const address of addresses) (isReady ? ready : terminating).set(`${address}:${port}`, { address, port });
    }
  }
  const used = ready.size > 0 ? ready : terminating;
  return [...used.keys()].sort().flatMap((key) => used.get(key) ?? []);
}

function chainName(prefix: string, text: string): string {
  return `${prefix}-${createHash("sha256").update(text).digest("hex").slice(0, 16).toUpperCase()}`;
}
