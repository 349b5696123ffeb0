import { configuredProxy } from "../client/configured-proxy.js";
import type { SimulatedProxy } from "../client/simulated-proxy.js";
import { certificateRequest, connectCa, requestCertificate } from "./certificate-client.js";
import { Connections } from "./connections.js";
import { Failures, inTurn } from "./issuance.js";
import type { AgentOptions, ArrivalOrder, CallerReport } from "./messages.js";

/** Has agents arrive at once, each of which wants a certificate and opens a stream. */
export async function arrive(order: ArrivalOrder): Promise<CallerReport> {
  const failures = new Failures();
  const connections = new Connections(order.maxConnections);
  const frames = order.requests.map(certificateRequest);
  const certificates: number[] = [];
  const configured: number[] = [];
  const proxies: SimulatedProxy[] = [];
  const startedAt = performance.now();
  const sinceStart = (): number => performance.now() - startedAt;
  const open = (at: number) => connections.open({ ...order.target, localAddress: addressOf(at) });

  const certify = async ({ token }: AgentOptions, at: number): Promise<void> => {
    if (frames.length === 0) return;
    const { address, release } = await open(at);
    const session = connectCa(address).once("close", release);
    try {
      await requestCertificate(session, inTurn(frames, at), token);
      certificates.push(sinceStart());
    } finally {
      session.close();
    }
  };
  const configure = async ({ node, token }: AgentOptions, at: number): Promise<void> => {
    const { address } = await open(at);
    const headers = { authorization: `Bearer ${token}` };
    proxies.push(await configuredProxy({ target: address, node, headers }));
    configured.push(sinceStart());
  };
  const count = (error: unknown): void => failures.add(error);
  await Promise.all(
    order.agents.flatMap((agent, at) => [certify(agent, at).catch(count), configure(agent, at).catch(count)]),
  );
  const elapsed = sinceStart();
  for (const proxy of proxies) proxy.drop();
  return { certificates, configured, elapsed, failures: failures.byReason() };
}

/** Returns the address of an agent: limits of istiod apply to each address. */
function addressOf(at: number): string {
  return `127.1.${at >> 8}.${at & 255}`;
}
