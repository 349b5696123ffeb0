import { randomBytes } from "node:crypto";
import { copyFile, mkdir, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import { type Child, startChild } from "./child.js";
import { eventually } from "./eventually.js";
import type { Workload } from "./workload.js";

const require = createRequire(import.meta.url);
const istiodProgram = join(dirname(require.resolve("@istiod/istiod/package.json")), "bin", "istiod.js");
const agentProgram = join(dirname(require.resolve("@istiod/pilot-agent/package.json")), "bin", "pilot-agent.js");

/** Where the demo keeps what it makes, and what it serves. */
export interface Places {
  /** The YAML that istiod reads. */
  readonly config: string;
  /** The CA's root, tokens, logs and a directory for each agent; made if absent. */
  readonly work: string;
}

/** The ports of istiod on 127.0.0.1. */
export const ports = { xds: 15010, secure: 15012, http: 8080, monitoring: 15014 } as const;

/** Istiod as a process, ready to serve. */
export async function startIstiod({ config, work }: Places): Promise<Child> {
  const ready = join(work, "ready");
  await mkdir(join(work, "logs"), { recursive: true });
  const log = join(work, "logs", "istiod.log");
  const flags = [
    ["configDir", config],
    ["meshConfig", join(work, "mesh.yaml")],
    ["networksConfig", ""],
    ["grpcAddr", `127.0.0.1:${ports.xds}`],
    ["secureGRPCAddr", `127.0.0.1:${ports.secure}`],
    ["httpAddr", `127.0.0.1:${ports.http}`],
    ["monitoringAddr", `127.0.0.1:${ports.monitoring}`],
    ["httpsAddr", ""],
    ["caDir", join(work, "ca")],
    ["tokensDir", join(work, "tokens")],
    ["readyFile", ready],
    ["shutdownDuration", "1s"],
  ].flatMap(([name, value]) => [`--${name}`, value ?? ""]);
  await writeFile(join(work, "mesh.yaml"), meshConfiguration);
  const child = startChild("istiod", [istiodProgram, "discovery", ...flags], process.env, work, log);
  const up = await eventually(async () => (await fetch(`http://127.0.0.1:${ports.http}/ready`)).ok, 20_000, child.ended);
  if (!up) throw new Error(`istiod did not become ready; see ${log}`);
  return child;
}

/** Applications learn who called them from the header that the proxy in front of them sets. */
const meshConfiguration = `accessLogFile: ""
defaultConfig:
  proxyHeaders:
    forwardedClientCert: SANITIZE_SET
`;

/** The agent of one workload as a process, with its Envoy; resolves when Envoy is ready to take traffic. */
export async function startAgent(of: Workload, places: Places, envoy: string): Promise<Child> {
  const directory = join(places.work, "agents", of.name);
  const secrets = join(directory, "var/run/secrets");
  await mkdir(join(secrets, "istio"), { recursive: true });
  await mkdir(join(secrets, "tokens"), { recursive: true });
  await copyFile(join(places.work, "ca", "ca-cert.pem"), join(secrets, "istio", "root-cert.pem"));
  await copyFile(tokenFile(places, of), join(secrets, "tokens", "istio-token"));
  const env = {
    PATH: process.env["PATH"],
    ENVOY_PATH: envoy,
    POD_NAME: of.name,
    POD_NAMESPACE: of.namespace,
    SERVICE_ACCOUNT: of.serviceAccount,
    INSTANCE_IP: of.address,
    AGENT_BIND_ADDRESS: of.address,
    ISTIOD_SAN: "istiod.istio-system.svc",
    ECC_SIGNATURE_ALGORITHM: "ECDSA",
    ISTIO_META_CLUSTER_ID: "Kubernetes",
    ISTIO_META_INTERCEPTION_MODE: "NONE",
    ISTIO_METAJSON_LABELS: JSON.stringify(of.labels),
    PROXY_CONFIG: JSON.stringify({ discoveryAddress: `127.0.0.1:${ports.secure}`, concurrency: 1, terminationDrainDuration: "0.5s" }),
  };
  const log = join(places.work, "logs", `${of.name}.log`);
  const child = startChild(of.name, [agentProgram, "proxy", of.role, "--directory", directory], env, directory, log);
  const up = await eventually(async () => (await fetch(`http://${of.address}:15020/healthz/ready`)).ok, 30_000, child.ended);
  if (!up) {
    await child.stop();
    throw new Error(`the proxy of ${of.name} did not become ready; see ${log}`);
  }
  return child;
}

/** Gives every workload a token of its own, by which istiod knows it. */
export async function issueTokens(places: Places, workloads: readonly Workload[]): Promise<void> {
  for (const of of workloads) {
    const file = tokenFile(places, of);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, randomBytes(32).toString("base64url"), { mode: 0o600 });
  }
}

function tokenFile({ work }: Places, { namespace, serviceAccount }: Workload): string {
  return join(work, "tokens", namespace, serviceAccount);
}

/** The first address and port of those given that somebody else listens on. */
export async function firstTaken(addresses: readonly (readonly [host: string, port: number])[]): Promise<string | undefined> {
  for (const [host, port] of addresses) {
    const free = await new Promise<boolean>((resolve) => {
      const server = createServer().once("error", () => resolve(false));
      server.listen(port, host, () => server.close(() => resolve(true)));
    });
    if (!free) return `${host}:${port}`;
  }
  return undefined;
}
