import { createServer } from "node:net";
import { findPortOwner, formatPortOwner } from "@istiod/pilot-agent/processes";
import type { Workload } from "./workload.js";

const usual = {
  /** istiod, on 127.0.0.1. */
  xds: 15010,
  secure: 15012,
  http: 8080,
  monitoring: 15014,
  /** Each workload, on its own address. */
  admin: 15000,
  status: 15020,
  health: 15021,
  metrics: 15090,
  gateway: 8080,
  service: 9080,
  application: 9081,
} as const;

export type Ports = Readonly<Record<keyof typeof usual, number>> & { readonly offset: number };
type Place = readonly [address: string, port: number];

const OFFSET_STEP = 100;
const OFFSETS_TRIED = 100;

export function portsAt(offset: number): Ports {
  const shifted = Object.fromEntries(Object.entries(usual).map(([name, port]) => [name, port + offset])) as Record<
    keyof typeof usual,
    number
  >;
  return { ...shifted, offset };
}

/** Moves the sample's ports in a text, and keeps its lines. */
export function shiftPorts(text: string, offset: number): string {
  const moved = new Set<number>([usual.gateway, usual.service, usual.application]);
  return text.replaceAll(/(?<![\w.])\d{4}(?![\w.])/g, (digits) =>
    moved.has(Number(digits)) ? String(Number(digits) + offset) : digits,
  );
}

/**
 * Returns the ports at an offset.
 *
 * @param workloads those that are started, with their proxies
 * @throws Error naming a port that is taken, by whom, and an offset at which all are free
 */
export async function choosePorts(offset: number | "auto", workloads: readonly Workload[]): Promise<Ports> {
  if (offset === "auto") {
    const free = await firstFree(0, workloads);
    if (free === undefined) throw new Error("--port-offset auto: no offset has all ports free");
    return portsAt(free);
  }
  const ports = portsAt(offset);
  const taken = await firstTaken(needed(ports, workloads));
  if (!taken) return ports;
  const [address, port] = taken;
  const owner = await findPortOwner(port, address);
  const by = owner ? formatPortOwner(owner) : "another process";
  const free = await firstFree(offset + OFFSET_STEP, workloads);
  const or = free === undefined ? "" : `, or choose other ports: npm start -- --port-offset ${free}`;
  throw new Error(`port ${port} on ${address} is taken by ${by}; end it${or}`);
}

async function firstFree(from: number, workloads: readonly Workload[]): Promise<number | undefined> {
  for (let n = 0; n < OFFSETS_TRIED; n++) {
    const offset = from + n * OFFSET_STEP;
    if (offset + Math.max(...Object.values(usual)) > 65_535) return undefined;
    if (!(await firstTaken(needed(portsAt(offset), workloads)))) return offset;
  }
  return undefined;
}

function needed(ports: Ports, workloads: readonly Workload[]): Place[] {
  const { xds, secure, http, monitoring, admin, status, health, metrics, gateway, service, application } = ports;
  const istiod = [xds, secure, http, monitoring].map((port): Place => ["127.0.0.1", port]);
  const others = workloads.flatMap(({ address, outbound, role }): Place[] => {
    const own = [admin, status, health, metrics].map((port): Place => [address, port]);
    return role === "router"
      ? [...own, [address, gateway]]
      : [...own, [address, service], [address, application], [outbound, service]];
  });
  return [...istiod, ...others];
}

async function firstTaken(places: readonly Place[]): Promise<Place | undefined> {
  for (const [address, port] of places) {
    const free = await new Promise<boolean>((resolve, reject) => {
      const server = createServer().once("error", (error: NodeJS.ErrnoException) => {
        if (error.code === "EADDRINUSE") resolve(false);
        else reject(new Error(`port ${port} on ${address} cannot be listened on: ${error.message}`, { cause: error }));
      });
      server.listen(port, address, () => server.close(() => resolve(true)));
    });
    if (!free) return [address, port];
  }
  return undefined;
}
