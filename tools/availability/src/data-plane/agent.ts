import { type ChildProcess, spawn } from "node:child_process";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { MountedFiles } from "@istiod/e2e";
import { eventually } from "@istiod/outage";
import { labelsOf, namespace, type PodPlace } from "./workload-objects.js";

export interface AgentOptions {
  readonly place: PodPlace;
  readonly envoy: string;
  readonly directory: string;
  /** Address of the control plane's Service, and the name in its certificate. */
  readonly discoveryAddress: string;
  readonly serverName: string;
  readonly revision: string;
  readonly token: string;
  readonly rootsPem: string;
  /** Seconds for which Envoy drains when the pod is deleted. */
  readonly drainSeconds: number;
  /** Lifetime of its certificates, such as `24h`. */
  readonly certificateLifetime: string;
}

const program = join(
  dirname(createRequire(import.meta.url).resolve("@istiod/pilot-agent/package.json")),
  "bin/pilot-agent.js",
);
const startMs = 120_000;
const gracePeriodMs = 30_000;
const keptOutput = 4_000;

/** The agent of a pod with its Envoy, as processes. */
export class Agent {
  readonly place: PodPlace;
  readonly #child: ChildProcess;
  readonly #roots: MountedFiles;
  readonly #directory: string;
  #output = "";

  private constructor(place: PodPlace, child: ChildProcess, roots: MountedFiles, directory: string) {
    this.place = place;
    this.#child = child;
    this.#roots = roots;
    this.#directory = directory;
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.#output = (this.#output + text).slice(-keptOutput);
    });
  }

  /** Starts an agent, and resolves when its Envoy is ready for traffic. */
  static async start(options: AgentOptions): Promise<Agent> {
    const { place, directory, token, rootsPem } = options;
    const secrets = join(directory, "var/run/secrets");
    const roots = new MountedFiles(join(secrets, "istio"));
    await roots.write({ "root-cert.pem": rootsPem });
    await new MountedFiles(join(secrets, "tokens")).write({ "istio-token": token });
    const log = process.env["AGENT_LOG"] ?? "error";
    const args = ["proxy", "sidecar", "--directory", directory, "--proxyLogLevel", "error", "--log_output_level", log];
    const child = spawn(process.execPath, [program, ...args], {
      env: environment(options),
      stdio: ["ignore", "ignore", "pipe"],
    });
    const agent = new Agent(place, child, roots, directory);
    try {
      await eventually(() => agent.#readiness(), startMs);
    } catch (error) {
      await agent.stop();
      throw new Error(`${place.name}: ${(error as Error).message}\n${agent.#output}`);
    }
    return agent;
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** Directory of the certificates that the agent writes. */
  get certificates(): string {
    return join(this.#directory, "certificates");
  }

  /** Changes the mounted roots by which the agent verifies istiod. */
  async mountRoots(pem: string): Promise<void> {
    await this.#roots.write({ "root-cert.pem": pem });
  }

  /** Ends the agent by SIGTERM, which drains Envoy, and by SIGKILL after a grace period. */
  async stop(): Promise<void> {
    const { exitCode, signalCode } = this.#child;
    if (exitCode !== null || signalCode !== null) return;
    const exited = new Promise((resolve) => this.#child.once("exit", resolve));
    this.#child.kill("SIGTERM");
    const late = setTimeout(() => this.#child.kill("SIGKILL"), gracePeriodMs);
    await exited;
    clearTimeout(late);
  }

  async #readiness(): Promise<string | undefined> {
    if (this.#child.exitCode !== null) throw new Error(`the agent ended with ${this.#child.exitCode}`);
    return fetch(`http://${this.place.address}:15021/healthz/ready`).then(
      ({ ok }) => (ok ? undefined : "Envoy is not ready"),
      () => "the agent does not answer",
    );
  }
}

function environment(options: AgentOptions): Record<string, string> {
  const { place, envoy, directory, discoveryAddress, serverName, revision } = options;
  return {
    PATH: process.env["PATH"] ?? "",
    ENVOY_PATH: envoy,
    POD_NAME: place.name,
    POD_NAMESPACE: namespace,
    SERVICE_ACCOUNT: place.app,
    INSTANCE_IP: place.address,
    AGENT_BIND_ADDRESS: place.address,
    ISTIOD_SAN: serverName,
    ECC_SIGNATURE_ALGORITHM: "ECDSA",
    OUTPUT_CERTS: join(directory, "certificates"),
    SECRET_TTL: options.certificateLifetime,
    ISTIO_META_CLUSTER_ID: "Kubernetes",
    ISTIO_META_INTERCEPTION_MODE: "NONE",
    ISTIO_METAJSON_LABELS: JSON.stringify({ ...labelsOf(place), "istio.io/rev": revision }),
    PROXY_CONFIG: JSON.stringify({
      discoveryAddress,
      concurrency: 1,
      terminationDrainDuration: `${options.drainSeconds}s`,
    }),
  };
}
