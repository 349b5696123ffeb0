import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { freePort } from "@istiod/bench";

export interface AgentOptions {
  readonly directory: string;
  /** Port of istiod's plaintext xDS on 127.0.0.1. */
  readonly istiodPort: number;
  /** Port of the upstream name server on 127.0.0.1. */
  readonly resolverPort: number;
  /** Port of the application that is probed. */
  readonly applicationPort: number;
  /** Limit of V8's old generation in MiB. */
  readonly heapMiB: number;
}

/** A pilot-agent without an Envoy, as a process of its own. */
export interface AgentProcess {
  readonly child: ChildProcess & { readonly pid: number };
  readonly dnsPort: number;
  readonly statusPort: number;
  /** Paths of the sockets of xDS and SDS. */
  readonly xds: string;
  readonly sds: string;
  /** Returns the end of what the process has printed. */
  output(): string;
}

/** Path at which the agent serves the application's probe. */
export const probePath = "/app-health/app/livez";
const keptOutput = 4000;

/** Starts the built agent. It is ready once its sockets accept connections and istiod has sent the names. */
export async function startAgent(options: AgentOptions): Promise<AgentProcess> {
  const { directory, istiodPort, resolverPort, applicationPort, heapMiB } = options;
  const [dnsPort, statusPort] = [await freePort(), await freePort()];
  await mkdir(directory, { recursive: true });
  await writeFile(join(directory, "resolv.conf"), `nameserver 127.0.0.1:${resolverPort}\n`);
  const probe = { [probePath]: { httpGet: { path: "/", port: applicationPort }, timeoutSeconds: 5 } };
  const program = join(
    dirname(createRequire(import.meta.url).resolve("@istiod/pilot-agent/package.json")),
    "bin/pilot-agent.js",
  );
  const child = spawn(
    process.execPath,
    [`--max-old-space-size=${heapMiB}`, program, "proxy", "sidecar", "--directory", directory],
    {
      stdio: ["ignore", "ignore", "pipe"],
      env: {
        PATH: process.env["PATH"] ?? "",
        DISABLE_ENVOY: "true",
        FILE_MOUNTED_CERTS: "true",
        AGENT_BIND_ADDRESS: "127.0.0.1",
        INSTANCE_IP: "127.0.0.1",
        POD_NAME: "attacked",
        POD_NAMESPACE: "ns-0",
        ISTIO_META_DNS_CAPTURE: "true",
        DNS_PROXY_ADDR: `127.0.0.1:${dnsPort}`,
        DNS_RESOLV_CONF: join(directory, "resolv.conf"),
        ISTIO_KUBE_APP_PROBERS: JSON.stringify(probe),
        PROXY_CONFIG: JSON.stringify({
          discoveryAddress: `127.0.0.1:${istiodPort}`,
          controlPlaneAuthPolicy: "NONE",
          statusPort,
        }),
      },
    },
  );
  await once(child, "spawn");
  if (child.pid === undefined) throw new Error("the agent has no process ID");
  let output = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (output = (output + text).slice(-keptOutput)));
  return {
    child: child as ChildProcess & { readonly pid: number },
    dnsPort,
    statusPort,
    xds: join(directory, "etc/istio/proxy/XDS"),
    sds: join(directory, "var/run/secrets/workload-spiffe-uds/socket"),
    output: () => output,
  };
}
