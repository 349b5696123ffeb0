import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { toBinary } from "@bufbuild/protobuf";
import {
  apply,
  change,
  type IstiodProcess,
  Mesh,
  nodeOf,
  type ProxyPlace,
  SimulatedProxy,
  startIstiod,
  type Tokens,
  writeObjects,
  writeTokens,
} from "@istiod/bench";
import { NodeSchema } from "@istiod/envoy-api/envoy/config/core/v3/base";
import { Closers } from "@istiod/runtime";
import { clusterType } from "@istiod/xds-server";
import type { Address } from "@istiod/xds-server/testing";
import type { Target } from "./target.js";

export interface IstiodTargetOptions {
  /** Limit of V8's old generation in MiB. Default 512. */
  readonly heapMiB?: number;
  /** Services of its mesh. Default 100. */
  readonly services?: number;
  /** Proxies with tokens, connected over TLS. Default 5. */
  readonly proxies?: number;
  /** Loopback address of the attackers. The honest proxies have 127.0.0.1. Default {@link strangerAddress}. */
  readonly attackerAddress?: string;
  readonly flags?: Readonly<Record<string, string>>;
  readonly env?: Readonly<Record<string, string>>;
}

/** Loopback address of attackers, where the system has more than one. */
export const strangerAddress = process.platform === "linux" ? "127.0.0.66" : "127.0.0.1";

/** The ports of an istiod as an attacker connects to them. */
export interface AttackedPorts {
  readonly xds: Address;
  readonly plaintext: Address;
}

/** Returns the ports of an istiod for connections from a loopback address. */
export function portsFrom(
  { xds, plaintext }: Pick<IstiodProcess, "xds" | "plaintext">,
  localAddress: string,
): AttackedPorts {
  return { xds: { ...xds, localAddress }, plaintext: { ...plaintext, localAddress } };
}

/** The parts of a running istiod that attacks use. */
export interface AttackedIstiod {
  readonly istiod: Pick<IstiodProcess, "xds" | "http">;
  readonly ports: AttackedPorts;
  /** Of the honest proxies. */
  readonly places: readonly ProxyPlace[];
  readonly tokens: Tokens;
  /** Directory of its certificate authority, with the key. */
  readonly caDirectory: string;
}

/** A running istiod with honest proxies. */
export interface IstiodTarget extends AttackedIstiod, Target {
  readonly istiod: IstiodProcess;
}

const updateMs = 30_000;

/** Starts a built istiod with a small heap, in plaintext and over TLS, and connects the honest proxies. */
export async function startIstiodTarget(options: IstiodTargetOptions = {}): Promise<IstiodTarget> {
  const { heapMiB = 512, services = 100, proxies = 5, flags = {}, env = {} } = options;
  const { attackerAddress = strangerAddress } = options;
  const closers = new Closers();
  return closers.closeOnError(async () => {
    const root = await mkdtemp(join(tmpdir(), "istiod-attack-"));
    closers.defer(() => rm(root, { recursive: true, force: true }));
    const directory = join(root, "mesh");
    const mesh = new Mesh({ services, namespaces: 5, proxies, gatewayRoutes: 0, seed: 1 });
    await writeObjects(directory, mesh.objects());
    const places = mesh.proxies();
    const tokens = await writeTokens(join(root, "tokens"), places);
    const caDirectory = join(root, "ca");
    const istiod = await startIstiod({
      directory,
      caDir: caDirectory,
      tlsTokens: tokens.directory,
      alsoPlaintext: true,
      maxOldSpaceMiB: heapMiB,
      recordLongTurns: true,
      flags,
      env: { PILOT_MAX_REQUESTS_PER_SECOND: "", ...env },
    });
    closers.defer(() => istiod.stop());
    const fleet = await connect(istiod, places, tokens);
    closers.defer(() => fleet.close());
    let edits = 0;
    return {
      istiod,
      pid: istiod.pid,
      readyUrl: `${istiod.http}/ready`,
      ports: portsFrom(istiod, attackerAddress),
      places,
      tokens,
      caDirectory,
      get streamsLost() {
        return fleet.lost();
      },
      longTurns: () => istiod.longTurns(),
      isAlive: () => isRunning(istiod.pid),
      join: () => joinMesh(istiod, places[0], tokens),
      async update() {
        const before = fleet.digests();
        await apply(directory, change(mesh, "rule", edits++));
        return eventually(() => fleet.digests().every((digest, at) => digest !== before[at]), updateMs);
      },
      close: () => closers.close(),
    };
  });
}

interface HonestFleet {
  lost(): number;
  /** Returns the clusters that each proxy holds, as one string. */
  digests(): readonly string[];
  close(): void;
}

async function connect({ xds }: IstiodProcess, places: readonly ProxyPlace[], tokens: Tokens): Promise<HonestFleet> {
  let lost = 0;
  let closing = false;
  const proxies = places.map(
    (place) =>
      new SimulatedProxy({
        target: xds,
        variant: "delta",
        node: toBinary(NodeSchema, nodeOf(place)),
        headers: { authorization: `Bearer ${tokens.of(place)}` },
        events: { broken: () => void (closing || lost++) },
      }),
  );
  for (const proxy of proxies) proxy.connect();
  const connected = await eventually(() => proxies.every(({ complete }) => complete), updateMs);
  if (!connected) throw new Error("the honest proxies did not receive their configuration");
  return {
    lost: () => lost,
    digests: () => proxies.map((proxy) => [...proxy.held(clusterType).values()].map(({ digest }) => digest).join()),
    close: () => {
      closing = true;
      for (const proxy of proxies) proxy.drop();
    },
  };
}

/** Connects a proxy, which connects again if it is rejected. */
function joinMesh(
  { xds }: IstiodProcess,
  place: ProxyPlace | undefined,
  tokens: Tokens,
): { waitMs(): Promise<number | undefined> } {
  if (place === undefined) throw new Error("the target has no honest proxy");
  const startedAt = performance.now();
  let servedAt: number | undefined;
  const proxy = new SimulatedProxy({
    target: xds,
    variant: "delta",
    node: toBinary(NodeSchema, nodeOf(place)),
    headers: { authorization: `Bearer ${tokens.of(place)}` },
    events: { complete: () => (servedAt ??= performance.now()) },
  });
  proxy.connect();
  return {
    async waitMs() {
      await eventually(() => servedAt !== undefined, updateMs);
      proxy.drop();
      return servedAt && servedAt - startedAt;
    },
  };
}

async function eventually(condition: () => boolean, withinMs: number): Promise<boolean> {
  for (const until = performance.now() + withinMs; !condition(); await wait(20))
    if (performance.now() > until) return false;
  return true;
}

/** Reports whether a process runs. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
