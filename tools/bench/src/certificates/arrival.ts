import { SimulatedProxy } from "../client/simulated-proxy.js";
import { certificateRequest, connectCa, requestCertificate } from "./certificate-client.js";
import { Failures, inTurn } from "./issuance.js";
import type { AgentOptions, ArrivalOrder, CallerReport } from "./messages.js";

/** Time in which all must have what they need, in milliseconds. */
const limitMs = 300_000;

/** Has agents arrive at once, each of which wants a certificate and opens a stream. */
export async function arrive(order: ArrivalOrder): Promise<CallerReport> {
  const { agents, target } = order;
  const failures = new Failures();
  const places = new Places(order.maxConnections);
  const frames = order.requests.map(certificateRequest);
  const certificates: number[] = [];
  const configured: number[] = [];
  const proxies: SimulatedProxy[] = [];
  const startedAt = performance.now();
  const sinceStart = (): number => performance.now() - startedAt;

  const certify = async ({ token }: AgentOptions, at: number): Promise<void> => {
    if (frames.length === 0) return;
    await places.take();
    const session = connectCa(target);
    try {
      await requestCertificate(session, inTurn(frames, at), token);
      certificates.push(sinceStart());
    } catch (error) {
      failures.add(error);
    } finally {
      session.close(() => places.give());
    }
  };
  const configure = async ({ node, token }: AgentOptions): Promise<void> => {
    await places.take();
    await new Promise<void>((resolve) => {
      const timeout = setTimeout(() => {
        failures.add(`no configuration within ${limitMs} ms`);
        resolve();
      }, limitMs);
      const complete = (): void => {
        clearTimeout(timeout);
        configured.push(sinceStart());
        resolve();
      };
      const broken = (reason: string): void => failures.add(`stream: ${reason}`);
      const headers = { authorization: `Bearer ${token}` };
      const proxy = new SimulatedProxy({ target, variant: "delta", node, headers, events: { complete, broken } });
      proxies.push(proxy);
      proxy.connect();
    });
  };
  await Promise.all(agents.flatMap((agent, at) => [certify(agent, at), configure(agent)]));
  const elapsed = sinceStart();
  for (const proxy of proxies) proxy.drop();
  return { certificates, configured, elapsed, failures: failures.byReason() };
}

/** Places for connections. Those who find none wait in the order in which they came. */
class Places {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(free: number) {
    this.#free = free;
  }

  async take(): Promise<void> {
    if (this.#free > 0) this.#free--;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  give(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#free++;
    else next();
  }
}
