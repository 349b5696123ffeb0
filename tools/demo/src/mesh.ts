import { randomBytes } from "node:crypto";
import { copyFile, mkdir, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { type Child, startChild } from "./child.js";
import { eventually } from "./eventually.js";
import type { Ports } from "./ports.js";
import type { Workload } from "./workload.js";

const require = createRequire(import.meta.url);
const istiodProgram = join(dirname(require.resolve("@istiod/istiod/package.json")), "bin", "istiod.js");
const agentProgram = join(dirname(require.resolve("@istiod/pilot-agent/package.json")), "bin", "pilot-agent.js");

/** Directories and ports of the mesh. */
export interface Places {
  /** The YAML that istiod reads. */
  readonly config: string;
  /** The CA's root, tokens, logs and a directory for each agent; created if absent. */
  readonly work: string;
  readonly ports: Ports;
}

export function logDirectory({ work }: Pick<Places, "work">): string {
  return join(work, "logs");
}

/** Starts istiod as a process; resolves when it serves. */
export async function startIstiod({ config, work, ports }: Places): Promise<Child> {
  await mkdir(logDirectory({ work }), { recursive: true });
  const log = join(logDirectory({ work }), "istiod.log");
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
    ["readyFile", join(work, "ready")],
    ["ctrlz_port", "0"],
    ["shutdownDuration", "1s"],
  ].flatMap(([name, value]) => [`--${name}`, value ?? ""]);
  await writeFile(join(work, "mesh.yaml"), meshConfiguration);
  const child = startChild({
    name: "istiod",
    args: [istiodProgram, "discovery", ...flags],
    env: process.env,
    directory: work,
    log: { stdout: log, stderr: log },
  });
  const up = await eventually(
    async () => (await fetch(`http://127.0.0.1:${ports.http}/ready`)).ok,
    20_000,
    child.ended,
  );
  if (!up) throw new Error(`istiod did not become ready; see ${log}`);
  return child;
}

/** Proxies pass the caller's identity on to the application in a header. */
const meshConfiguration = `accessLogFile: /dev/stdout
accessLogFormat: |
  %START_TIME(%H:%M:%S.%3f)% %REQ(:METHOD)% %REQ(:AUTHORITY)%%REQ(:PATH)% %RESPONSE_CODE% %RESPONSE_FLAGS% %DURATION% ms, from %DOWNSTREAM_PEER_URI_SAN% to %UPSTREAM_HOST% (%UPSTREAM_CLUSTER_RAW%), "%REQ(USER-AGENT)%"
defaultConfig:
  proxyHeaders:
    forwardedClientCert: SANITIZE_SET
`;

/** The file with the access log of a workload's proxy. */
export function accessLogFile(places: Places, of: Workload): string {
  return join(logDirectory(places), `${of.name}.access.log`);
}

/**
 * Starts the agent of one workload, with its Envoy; resolves when Envoy is ready to take traffic. @param onAccess
 * called with each line of the access log
 */
export async function startAgent(
  of: Workload,
  places: Places,
  envoy: string,
  onAccess?: (line: string) => void,
): Promise<Child> {
  const { ports } = places;
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
    ENVOY_STATUS_PORT: String(ports.health),
    ENVOY_PROMETHEUS_PORT: String(ports.metrics),
    PROXY_CONFIG: JSON.stringify({
      discoveryAddress: `127.0.0.1:${ports.secure}`,
      proxyAdminPort: ports.admin,
      statusPort: ports.status,
      concurrency: 1,
      fileFlushInterval: "0.2s",
      terminationDrainDuration: "0.5s",
    }),
  };
  const log = join(logDirectory(places), `${of.name}.log`);
  const child = startChild({
    name: of.name,
    args: [agentProgram, "proxy", of.role, "--directory", directory],
    env,
    directory,
    log: { stdout: accessLogFile(places, of), stderr: log },
    ...(onAccess ? { onLine: onAccess } : {}),
  });
  const up = await eventually(
    async () => (await fetch(`http://${of.address}:${ports.status}/healthz/ready`)).ok,
    30_000,
    child.ended,
  );
  if (!up) {
    await child.stop();
    throw new Error(`the proxy of ${of.name} did not become ready; see ${log}`);
  }
  return child;
}

/** Writes a token for every workload, by which istiod authenticates it. */
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
