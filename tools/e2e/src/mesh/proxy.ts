import { copyFile, mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type Agent, readOptions, startAgent, stderrLog } from "@istiod/pilot-agent";
import { eventually } from "../eventually.js";
import { type IstiodPlaces, rootFile } from "../istiod/istiod.js";
import type { Workload } from "./workload.js";

export interface ProxyOptions {
  readonly envoy: string;
  /** Makes Envoy use delta xDS; otherwise state of the world. */
  readonly delta: boolean;
  /** Fields of the agent's proxy configuration that replace those of a mesh's proxies. */
  readonly proxyConfig?: Readonly<Record<string, unknown>>;
}

/** Starts the agent of a workload with its Envoy, and resolves when Envoy is ready for traffic. */
export async function startProxy(of: Workload, istiod: IstiodPlaces, options: ProxyOptions): Promise<Agent> {
  const { envoy, delta, proxyConfig } = options;
  const directory = await prepareDirectory(of, istiod);
  const env = {
    ...proxyEnvironment(of, istiod, envoy),
    PROXY_CONFIG: JSON.stringify({ ...proxyConfigOf(istiod), ...proxyConfig }),
    AGENT_BIND_ADDRESS: of.address,
    ISTIO_DELTA_XDS: String(delta),
    ISTIO_META_INTERCEPTION_MODE: "NONE",
    ...ownEnvironment(of),
  };
  const agentOptions = readOptions({ directory, proxyLogLevel: process.env["E2E_ENVOY_LOG"] ?? "error" }, env);
  const agent = await startAgent({
    type: of.proxy === "router" ? "router" : "sidecar",
    options: agentOptions,
    env,
    log: stderrLog(process.env["E2E_AGENT_LOG"] ?? "error", false),
  });
  try {
    await eventually(`the proxy of ${of.name} is ready`, () => agent.checkReady().then(() => true), 60_000, 50);
  } catch (error) {
    await agent.terminate();
    throw error;
  }
  return agent;
}

/** Creates an agent's directory with its root certificate, token and additional files. */
export async function prepareDirectory(of: Workload, istiod: IstiodPlaces): Promise<string> {
  const directory = join(istiod.work, "agents", of.name);
  const secrets = join(directory, "var/run/secrets");
  await mkdir(join(secrets, "istio"), { recursive: true });
  await mkdir(join(secrets, "tokens"), { recursive: true });
  await copyFile(rootFile(istiod), join(secrets, "istio", "root-cert.pem"));
  await copyFile(tokenFile(istiod, of), join(secrets, "tokens", "istio-token"));
  for (const [path, text] of Object.entries(of.files ?? {})) {
    await mkdir(dirname(join(directory, path)), { recursive: true });
    await writeFile(join(directory, path), text);
  }
  return directory;
}

/** Returns the environment variables that all agents need. */
export function proxyEnvironment(
  of: Workload,
  istiod: IstiodPlaces,
  envoy: string,
): Record<string, string | undefined> {
  return {
    PATH: process.env["PATH"],
    ENVOY_PATH: envoy,
    POD_NAME: of.name,
    POD_NAMESPACE: of.namespace,
    SERVICE_ACCOUNT: of.serviceAccount,
    INSTANCE_IP: of.address,
    ISTIOD_SAN: "istiod.istio-system.svc",
    ECC_SIGNATURE_ALGORITHM: "ECDSA",
    ISTIO_META_CLUSTER_ID: "Kubernetes",
    ISTIO_METAJSON_LABELS: JSON.stringify(of.labels),
    PROXY_CONFIG: JSON.stringify(proxyConfigOf(istiod)),
  };
}

function proxyConfigOf({ address }: IstiodPlaces): Record<string, unknown> {
  return { discoveryAddress: `${address}:15012`, concurrency: 1, terminationDrainDuration: "0s" };
}

/** Returns the additional environment variables of a workload's agent. */
export function ownEnvironment(of: Workload): Record<string, string> {
  return Object.fromEntries(
    Object.entries(of.env ?? {}).map(([name, value]) => [name, value.replaceAll("{{address}}", of.address)]),
  );
}

/** Writes the token by which istiod authenticates a workload. */
export async function issueToken(istiod: IstiodPlaces, of: Workload, token: string): Promise<void> {
  await mkdir(join(istiod.work, "tokens", of.namespace), { recursive: true });
  await writeFile(tokenFile(istiod, of), token, { mode: 0o600 });
}

function tokenFile({ work }: IstiodPlaces, { namespace, serviceAccount }: Workload): string {
  return join(work, "tokens", namespace, serviceAccount);
}
