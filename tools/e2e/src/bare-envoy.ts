import { spawn } from "node:child_process";
import { mkdtemp, open, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Resource, ResourceSet } from "@istiod/resources";
import { clusterType, listenerType, serve, type StaticClient, staticSource, type ResourceSource, type XdsEvent } from "@istiod/xds-server";
import { supplies } from "./supplies.js";
import { eventually } from "./eventually.js";
import { claimSubnet } from "./subnet.js";

/** A resource that Envoy did not take, and what it said. */
export interface Refusal {
  readonly typeUrl: string;
  readonly message: string;
}

/** An Envoy of which nothing is asked but whether it takes resources. */
export interface BareEnvoy {
  /** Names of the extensions that it was built with. */
  readonly extensions: readonly string[];
  /** Offers resources of one type; gives what was refused. */
  offer(typeUrl: string, resources: readonly Resource[]): Promise<readonly Refusal[]>;
  close(): Promise<void>;
}

/** Clusters that Istio's bootstrap has and that generated resources name. */
const bootstrapClusters = ["sds-grpc", "xds-grpc", "prometheus_stats", "agent", "zipkin"];

/** Starts an Envoy that takes its configuration from here. */
export async function startBareEnvoy(binary: string): Promise<BareEnvoy> {
  const subnet = await claimSubnet();
  const directory = await mkdtemp(join(tmpdir(), "istiod-e2e-bare-"));
  const answered = new Map<string, Refusal | undefined>();
  const sent = new Map<string, string>();
  const source = staticSource({ [clusterType]: [], [listenerType]: [] });
  const lookup = await supplies();
  const supplied: ResourceSource<StaticClient> = { ready: () => true, open: (n, p) => source.open(n, p), resources: (c, t) => source.resources(c, t), watch: (l, changing) => source.watch(l, changing), lookup: (_, type, name) => lookup(type, name) };
  const observe = (event: XdsEvent): void => {
    if (event.kind === "push") sent.set(event.typeUrl, event.nonce);
    if (event.kind === "ack") answered.set(event.nonce, undefined);
    if (event.kind === "nack") answered.set(event.error.nonce, { typeUrl: event.typeUrl, message: event.error.message });
  };
  const server = await serve(supplied, { host: subnet.address(253), port: 0, observe });
  const admin = `http://${subnet.address(1)}:15000`;
  const file = join(directory, "bootstrap.json");
  await writeFile(file, JSON.stringify(bootstrap(subnet.address(1), server)));
  // Access logs open /dev/stdout, which cannot be done where that is a socket, as it is under a test runner.
  const output = await open(join(directory, "output"), "w");
  const envoy = spawn(binary, ["-c", file, "-l", process.env["E2E_ENVOY_LOG"] ?? "off", "--disable-hot-restart", "--concurrency", "1"], { cwd: directory, stdio: ["ignore", output.fd, "inherit"] });
  const exited = new Promise<void>((resolve) => void envoy.once("exit", () => resolve()));
  const atExit = (): void => void envoy.kill("SIGKILL");
  process.once("exit", atExit);
  const close = async (): Promise<void> => {
    process.off("exit", atExit);
    envoy.kill("SIGKILL");
    await exited;
    await output.close();
    await server.close();
    subnet.release();
    await rm(directory, { recursive: true, force: true });
  };
  try {
    const info = await eventually("Envoy answers", async () => (await (await fetch(`${admin}/server_info`)).json()) as { node: { extensions: { name: string }[] } }, 60_000);
    await eventually("Envoy has asked for resources", () => source.clients.length > 0, 60_000);
    return {
      extensions: info.node.extensions.map((e) => e.name),
      offer: async (typeUrl, resources) => {
        const before = sent.get(typeUrl);
        source.set({ [typeUrl]: ResourceSet.of(resources) });
        const nonce = await eventually(`${typeUrl} is sent`, () => (sent.get(typeUrl) === before ? undefined : sent.get(typeUrl)), 60_000);
        await eventually(`${typeUrl} is answered`, () => answered.has(nonce) || envoy.exitCode !== null || envoy.signalCode !== null, 120_000);
        if (envoy.exitCode !== null || envoy.signalCode !== null) throw new Error(`Envoy ended with ${envoy.exitCode ?? envoy.signalCode}`);
        const refusal = answered.get(nonce);
        return refusal ? [refusal] : [];
      },
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

function bootstrap(address: string, xds: { readonly host: string; readonly port: number }): object {
  const cluster = (name: string): object => ({
    name,
    type: "STATIC",
    typed_extension_protocol_options: {
      "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": { "@type": "type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions", explicit_http_config: { http2_protocol_options: {} } },
    },
    load_assignment: { cluster_name: name, endpoints: [{ lb_endpoints: [{ endpoint: { address: { socket_address: { address: xds.host, port_value: xds.port } } } }] }] },
  });
  const ads = { ads: {}, resource_api_version: "V3", initial_fetch_timeout: "0s" };
  return {
    node: { id: "bare", cluster: "bare" },
    admin: { address: { socket_address: { address, port_value: 15000 } } },
    dynamic_resources: { lds_config: ads, cds_config: ads, ads_config: { api_type: "DELTA_GRPC", transport_api_version: "V3", set_node_on_first_message_only: true, grpc_services: [{ envoy_grpc: { cluster_name: "ads" } }] } },
    static_resources: { clusters: ["ads", ...bootstrapClusters].map(cluster) },
  };
}
