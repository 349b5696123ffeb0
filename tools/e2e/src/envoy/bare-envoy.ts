import { type Resource, ResourceSet } from "@istiod/resources";
import {
  clusterType,
  listenerType,
  serve,
  type StaticClient,
  staticSource,
  type ResourceSource,
  type XdsEvent,
} from "@istiod/xds-server";
import { startEnvoyProcess } from "./envoy-process.js";
import { supplies } from "./supplies.js";
import { eventually } from "../eventually.js";
import { claimSubnet } from "../mesh/subnet.js";

/** A response that Envoy rejected, with its error message. */
export interface Refusal {
  readonly typeUrl: string;
  readonly message: string;
}

/** An Envoy without traffic that accepts or rejects resources. */
export interface BareEnvoy {
  /** Names of the extensions in its build. */
  readonly extensions: readonly string[];
  /** Full names of the messages that configure these extensions. */
  readonly extensionTypes: readonly string[];
  /** Sends resources of one type, and returns the rejections. */
  offer(typeUrl: string, resources: readonly Resource[]): Promise<readonly Refusal[]>;
  /** Returns the error messages of the listeners that were rejected, by name. */
  listenerErrors(): Promise<ReadonlyMap<string, string>>;
  /** Returns the names of the clusters that were accepted. */
  clusterNames(): Promise<ReadonlySet<string>>;
  close(): Promise<void>;
}

/** The part of the admin interface's `/server_info` that is read. */
interface ServerInfo {
  readonly node: { readonly extensions: readonly { readonly name: string; readonly type_urls?: readonly string[] }[] };
}

/** Clusters of Istio's bootstrap that generated resources refer to. */
const bootstrapClusters = ["sds-grpc", "xds-grpc", "prometheus_stats", "agent", "zipkin"];

/** Path of the admin interface for names of listeners and the errors of rejected ones. */
const rejectedListeners = "/config_dump?resource=dynamic_listeners&mask=name,error_state.details";

/** Path of the admin interface for names of clusters. */
const activeClusters = "/config_dump?resource=dynamic_active_clusters&mask=cluster.name";

/** Starts an Envoy that is configured by this process. */
export async function startBareEnvoy(binary: string): Promise<BareEnvoy> {
  const subnet = await claimSubnet();
  const answered = new Map<string, Refusal | undefined>();
  const sent = new Map<string, string>();
  const source = staticSource({ [clusterType]: [], [listenerType]: [] });
  const lookup = await supplies();
  const supplied: ResourceSource<StaticClient> = {
    ready: () => true,
    open: (n, p) => source.open(n, p),
    resources: (c, t) => source.resources(c, t),
    watch: (l) => source.watch(l),
    lookup: (_, type, name) => lookup(type, name),
  };
  const observe = (event: XdsEvent): void => {
    if (event.kind === "push") sent.set(event.typeUrl, event.nonce);
    if (event.kind === "ack") answered.set(event.nonce, undefined);
    if (event.kind === "nack")
      answered.set(event.error.nonce, { typeUrl: event.typeUrl, message: event.error.message });
  };
  const server = await serve(supplied, {
    host: subnet.address(253),
    port: 0,
    observe,
    isolatesRejections: false,
  });
  const envoy = await startEnvoyProcess({
    binary,
    address: subnet.address(1),
    xds: server,
    clusters: bootstrapClusters,
  });
  const close = async (): Promise<void> => {
    await envoy.kill();
    await server.close();
    subnet.release();
  };
  try {
    const info = await eventually(
      "Envoy answers",
      async () => JSON.parse(await envoy.admin("/server_info")) as ServerInfo,
      60_000,
    );
    await eventually("Envoy has asked for resources", () => source.clients.length > 0, 60_000);
    return {
      extensions: info.node.extensions.map((e) => e.name),
      extensionTypes: [...new Set(info.node.extensions.flatMap((e) => e.type_urls ?? []))].sort(),
      offer: async (typeUrl, resources) => {
        const before = sent.get(typeUrl);
        source.set({ [typeUrl]: ResourceSet.of(resources) });
        const nonce = await eventually(
          `${typeUrl} is sent`,
          () => (sent.get(typeUrl) === before ? undefined : sent.get(typeUrl)),
          60_000,
        );
        await eventually(`${typeUrl} is answered`, () => answered.has(nonce) || envoy.ended !== undefined, 120_000);
        if (envoy.ended !== undefined) throw new Error(`Envoy ended with ${envoy.ended}`);
        const refusal = answered.get(nonce);
        return refusal ? [refusal] : [];
      },
      listenerErrors: async () => {
        const dump = JSON.parse(await envoy.admin(rejectedListeners)) as {
          configs?: { name?: string; error_state?: { details: string } }[];
        };
        return new Map(
          (dump.configs ?? []).flatMap(({ name = "", error_state: error }) => (error ? [[name, error.details]] : [])),
        );
      },
      clusterNames: async () => {
        const dump = JSON.parse(await envoy.admin(activeClusters)) as { configs?: { cluster?: { name?: string } }[] };
        return new Set((dump.configs ?? []).map(({ cluster }) => cluster?.name ?? ""));
      },
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}
