import { spawn } from "node:child_process";
import { mkdtemp, open, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface EnvoyProcessOptions {
  readonly binary: string;
  /** Address of its admin interface, on port 15000. */
  readonly address: string;
  /** The xDS server of its clusters and listeners, over delta xDS in plaintext. */
  readonly xds: { readonly host: string; readonly port: number };
  /** Names of additional static clusters, all with the xDS server as endpoint. */
  readonly clusters?: readonly string[];
  /** Its node, as in Envoy's bootstrap. Default: named `bare`, without metadata. */
  readonly node?: { readonly id: string; readonly cluster: string; readonly metadata: object };
}

/** An Envoy with a minimal bootstrap: its xDS server and admin interface. */
export interface EnvoyProcess {
  /** Exit code or signal; undefined while it runs. */
  readonly ended: number | string | undefined;
  /** Sends a GET request to its admin interface. */
  admin(path: string): Promise<string>;
  kill(): Promise<void>;
}

/** Starts an Envoy. It may not be ready yet when this resolves. */
export async function startEnvoyProcess({
  binary,
  address,
  xds,
  clusters = [],
  node = { id: "bare", cluster: "bare", metadata: {} },
}: EnvoyProcessOptions): Promise<EnvoyProcess> {
  const directory = await mkdtemp(join(tmpdir(), "istiod-e2e-bare-"));
  const file = join(directory, "bootstrap.json");
  await writeFile(file, JSON.stringify({ node, ...bootstrap(address, xds, clusters) }));
  // Access logs open /dev/stdout, which fails if it is a socket, as under a test runner.
  const output = await open(join(directory, "output"), "w");
  const envoy = spawn(
    binary,
    ["-c", file, "-l", process.env["E2E_ENVOY_LOG"] ?? "off", "--disable-hot-restart", "--concurrency", "1"],
    { cwd: directory, stdio: ["ignore", output.fd, "inherit"] },
  );
  const exited = new Promise<void>((resolve) => void envoy.once("exit", () => resolve()));
  const atExit = (): void => void envoy.kill("SIGKILL");
  process.once("exit", atExit);
  return {
    get ended() {
      return envoy.exitCode ?? envoy.signalCode ?? undefined;
    },
    admin: async (path) => (await fetch(`http://${address}:15000${path}`)).text(),
    kill: async () => {
      process.off("exit", atExit);
      envoy.kill("SIGKILL");
      await exited;
      await output.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

/** A value of Istio's bootstrap that decides which patterns Envoy takes. */
const runtime = { "re2.max_program_size.error_level": 32_768 };

function bootstrap(address: string, xds: EnvoyProcessOptions["xds"], clusters: readonly string[]): object {
  const cluster = (name: string): object => ({
    name,
    type: "STATIC",
    typed_extension_protocol_options: {
      "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": {
        "@type": "type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions",
        explicit_http_config: { http2_protocol_options: {} },
      },
    },
    load_assignment: {
      cluster_name: name,
      endpoints: [
        { lb_endpoints: [{ endpoint: { address: { socket_address: { address: xds.host, port_value: xds.port } } } }] },
      ],
    },
  });
  const ads = { ads: {}, resource_api_version: "V3", initial_fetch_timeout: "0s" };
  const internalListeners = {
    name: "envoy.bootstrap.internal_listener",
    typed_config: { "@type": "type.googleapis.com/envoy.extensions.bootstrap.internal_listener.v3.InternalListener" },
  };
  return {
    layered_runtime: { layers: [{ name: "static", static_layer: runtime }] },
    bootstrap_extensions: [internalListeners],
    admin: { address: { socket_address: { address, port_value: 15000 } } },
    dynamic_resources: {
      lds_config: ads,
      cds_config: ads,
      ads_config: {
        api_type: "DELTA_GRPC",
        transport_api_version: "V3",
        set_node_on_first_message_only: true,
        grpc_services: [{ envoy_grpc: { cluster_name: "ads" } }],
      },
    },
    static_resources: { clusters: ["ads", ...clusters].map(cluster) },
  };
}
