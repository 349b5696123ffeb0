import http from "node:http";
import https from "node:https";
import type { AddressInfo } from "node:net";
import type tls from "node:tls";
import { afterAll } from "vitest";
import type { Agent, Log } from "../src/index.js";
import { type AgentPorts, freePorts, putCredentials, startReadyAgent } from "./agent-fixture.js";
import { application, discovery, inbound } from "./envoy-resources.js";
import { FakeIstiod, scratch } from "./fakes.js";

/** A client certificate with its chain, and its key, in PEM. */
export interface ClientCredentials {
  readonly cert: string;
  readonly key: string;
}

/** The workload cart-1 in namespace shop, without its agent: an application, and an istiod that serves Envoy. */
export interface ServedWorkload {
  /** Directory of the agent. */
  readonly directory: string;
  /** Rejections of Envoy. */
  readonly refused: readonly string[];
  startAgent(envoyPath: string, log: Log): Promise<Agent>;
  /** Calls the application through Envoy. Returns the certificate of Envoy. @throws Error if Envoy or `ca` rejects */
  call(client: ClientCredentials, ca: string): Promise<tls.PeerCertificate>;
}

/** Starts the workload on a loopback address. Its application is closed after all tests of the group. */
export async function serveWorkload(address: string): Promise<ServedWorkload> {
  const directory = await scratch();
  const ports: AgentPorts & { readonly inbound: number } = await freePorts(address, [
    "status",
    "health",
    "prometheus",
    "admin",
    "inbound",
  ]);
  const app = http.createServer((_, response) => response.end("hello"));
  await new Promise<void>((resolve) => app.listen(0, "127.0.0.1", resolve));
  afterAll(() => app.close());
  const seen = { known: [] as Record<string, string>[], refused: [] as string[] };
  const istiod = await FakeIstiod.start(
    discovery(
      () => application((app.address() as AddressInfo).port),
      () => inbound(address, ports.inbound),
      seen,
    ),
  );
  await putCredentials(directory, istiod);
  const more = { AGENT_DIRECTORY: directory, SERVICE_ACCOUNT: "cart" };
  return {
    directory,
    refused: seen.refused,
    startAgent: (envoyPath, log) =>
      startReadyAgent({ address, ports, istiod: `127.0.0.1:${istiod.port}`, envoyPath, more }, log),
    call: (client, ca) => {
      const to = { host: address, port: ports.inbound, agent: false, checkServerIdentity: () => undefined } as const;
      return new Promise((resolve, reject) => {
        https
          .get({ ...to, ...client, ca }, (response) => {
            const certificate = (response.socket as tls.TLSSocket).getPeerCertificate();
            response.resume().on("end", () => resolve(certificate));
          })
          .on("error", reject);
      });
    },
  };
}
