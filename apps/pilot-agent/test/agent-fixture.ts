import type { ChildProcess } from "node:child_process";
import { join } from "node:path";
import { type Clock, systemClock } from "@istiod/runtime";
import { vi } from "vitest";
import { type Agent, type Log, readOptions, startAgent } from "../src/index.js";
import { type FakeIstiod, freePort, put, TOKEN } from "./fakes.js";

/** Skip reason of tests with a real Envoy. */
export const NO_ENVOY = "no Envoy: set ENVOY_PATH, or run `npx istiod-envoy install`";
/** Skip reason of tests that run compiled modules. */
export const NOT_BUILT = "not built: npm run build";

/** Ports that every agent with an Envoy needs. */
export interface AgentPorts {
  readonly status: number;
  readonly health: number;
  readonly prometheus: number;
  readonly admin: number;
}

/** Returns a free port for each name. */
export async function freePorts<Name extends string>(
  address: string,
  names: readonly Name[],
): Promise<Record<Name, number>> {
  const ports: [Name, number][] = [];
  for (const name of names) ports.push([name, await freePort(address)]);
  return Object.fromEntries(ports) as Record<Name, number>;
}

export interface AgentEnvInputs {
  /** Address that the agent binds and the workload has. */
  readonly address: string;
  readonly ports: AgentPorts;
  /** `host:port` of istiod. */
  readonly istiod: string;
  readonly envoyPath?: string | undefined;
  /** Fields of PROXY_CONFIG, in addition to ports and addresses. */
  readonly proxyConfig?: Readonly<Record<string, unknown>>;
  /** Additional variables. */
  readonly more?: Readonly<Record<string, string>>;
}

/** Returns the environment of an agent that binds one loopback address, for the workload cart-1 in namespace shop. */
export function agentEnv({
  address,
  ports,
  istiod,
  envoyPath,
  proxyConfig,
  more,
}: AgentEnvInputs): Record<string, string> {
  return {
    PATH: process.env["PATH"] ?? "",
    ENVOY_PATH: envoyPath ?? "",
    AGENT_BIND_ADDRESS: address,
    INSTANCE_IP: address,
    POD_NAME: "cart-1",
    POD_NAMESPACE: "shop",
    ECC_SIGNATURE_ALGORITHM: "ECDSA",
    ENVOY_STATUS_PORT: String(ports.health),
    ENVOY_PROMETHEUS_PORT: String(ports.prometheus),
    PROXY_CONFIG: JSON.stringify({
      discoveryAddress: istiod,
      proxyAdminPort: ports.admin,
      statusPort: ports.status,
      concurrency: 1,
      ...proxyConfig,
    }),
    ...more,
  };
}

/** Starts an agent in this process, and resolves when its Envoy is ready. Envoy ends without a drain time. */
export async function startReadyAgent(inputs: AgentEnvInputs, log: Log): Promise<Agent> {
  const env = agentEnv({ ...inputs, proxyConfig: { terminationDrainDuration: "0s", ...inputs.proxyConfig } });
  const agent = await startAgent({ type: "sidecar", options: readOptions({}, env), env, log });
  try {
    await vi.waitFor(() => agent.checkReady(), { timeout: 20_000, interval: 100 });
    return agent;
  } catch (error) {
    await agent.terminate();
    throw error;
  }
}

/** Writes istiod's root certificate and the workload's token where the agent expects them. */
export async function putCredentials(directory: string, istiod: FakeIstiod): Promise<void> {
  await put(join(directory, "var/run/secrets/istio/root-cert.pem"), istiod.root);
  await put(join(directory, "var/run/secrets/tokens/istio-token"), TOKEN);
}

/** Resolves to the exit code or signal of a process. */
export function exitOf(child: ChildProcess): Promise<number | NodeJS.Signals | null> {
  return new Promise((resolve) => child.once("exit", (code, signal) => resolve(code ?? signal)));
}

/** The system's clock, except that timers of one delay wait for `release`. */
export class HoldingClock implements Clock {
  readonly #delay: number;
  readonly #held = new Set<() => void>();

  /** @param delay milliseconds */
  constructor(delay: number) {
    this.#delay = delay;
  }

  /** The number of timers that wait. */
  get held(): number {
    return this.#held.size;
  }

  now(): number {
    return systemClock.now();
  }

  after(delay: number, action: () => void): () => void {
    if (delay !== this.#delay) return systemClock.after(delay, action);
    const held = (): void => action();
    this.#held.add(held);
    return () => this.#held.delete(held);
  }

  /** Fires the timers that wait. */
  release(): void {
    for (const action of this.#held) action();
    this.#held.clear();
  }
}
