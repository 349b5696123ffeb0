import { proxyNamed } from "@istiod/push-context";
import { readFile } from "node:fs/promises";
import { text } from "node:stream/consumers";
import { proxyResources, resourceJson } from "@istiod/explain";
import {
  type ClusterHosts,
  type ConfigDump,
  configDump,
  controlPlaneDump,
  readClusterHosts,
  readConfigDump,
  type SentResource,
} from "@istiod/proxy-config";
import { askProxyReplica, formatSilent, httpReplicas } from "@istiod/replicas";
import {
  clusterType,
  endpointType,
  extensionConfigType,
  listenerType,
  routeType,
  secretType,
} from "@istiod/xds-server";
import type { JsonObject } from "@bufbuild/protobuf";
import { type EnvoyAdmin, podEnvoy } from "./cluster/envoy-admin.js";
import type { OfflineMeshes } from "./offline-mesh.js";
import type { MeshFlags } from "./mesh-flags.js";

/** Flags of the source of a proxy's configuration. */
export interface DumpFlags extends MeshFlags {
  readonly proxy?: string;
  readonly istiod?: readonly string[];
  readonly admin?: string;
  readonly file?: string;
  /** Kubeconfig of the cluster in whose Pod the Envoy is asked, and its context. */
  readonly kubeconfig?: string;
  readonly context?: string;
  /** Namespace of the Pod. */
  readonly podNamespace?: string;
}

/** The source of a proxy's configuration. */
export interface DumpSource {
  dump(): Promise<ConfigDump>;
  /** The endpoints: as the proxy has them with its findings about their health, or as the control plane gives them. */
  endpoints(): Promise<{ readonly hosts: ClusterHosts } | { readonly dump: ConfigDump }>;
}

/** Default of --istiod: the default --httpAddr on this machine. */
export const defaultIstiod = "http://127.0.0.1:8080";

/**
 * The source that flags name: a file, an Envoy's admin interface, a directory of objects, or else a running istiod.
 *
 * @param values.proxy name.namespace of a Pod or a node ID
 * @throws Error that names the flags that are missing or contradict each other
 */
export function dumpSource(values: DumpFlags, meshes: OfflineMeshes): DumpSource {
  const { proxy = "", file, admin, istiod, configDir, kubeconfig, context } = values;
  const given = Object.entries({
    "--file": file,
    "--admin": admin,
    "--configDir": configDir,
    "--istiod": istiod?.length,
    [kubeconfig ? "--kubeconfig" : "--context"]: kubeconfig || context,
  }).flatMap(([flag, value]) => (value ? [flag] : []));
  if (given.length > 1) throw new Error(`${given.join(" and ")}: expected one source of the configuration`);
  if ((file || admin) && proxy !== "")
    throw new Error(`${given[0]} and proxy ${proxy}: ${given[0]} is of one proxy already`);
  if (file) return fileSource(file);
  if (admin) return adminSource(admin);
  if (proxy !== "" && (kubeconfig || context)) return podSource(values, proxy, meshes);
  if (proxy === "") throw new Error("no proxy: expected name.namespace of a Pod or a node ID, --admin, or --file");
  const dump = (): Promise<ConfigDump> =>
    configDir ? offlineDump(values, proxy, meshes) : istiodDump(istiod ?? [], proxy);
  return { dump, endpoints: async () => ({ dump: await dump() }) };
}

/**
 * Returns what istiod last sent to a proxy, by the replica that the proxy is connected to. @throws Error if no replica
 * that answers has the proxy
 */
export async function istiodDump(istiod: readonly string[], proxy: string): Promise<ConfigDump> {
  const parameters = new URLSearchParams({ include_eds: "", proxyID: proxy });
  const ask = httpReplicas(istiod.length === 0 ? [defaultIstiod] : istiod);
  const { found, silent } = await askProxyReplica(ask, proxy, "config_dump", parameters);
  if (found !== undefined) return readConfigDump(JSON.stringify(found.answer));
  throw new Error(`proxy ${proxy}: is not connected to any replica that answers\n${formatSilent(silent)}`.trimEnd());
}

function fileSource(file: string): DumpSource {
  const read = (): Promise<string> =>
    file === "-"
      ? text(process.stdin)
      : readFile(file, "utf8").catch((cause: Error) =>
          Promise.reject(new Error(`--file ${file}: ${cause.message}`, { cause })),
        );
  return {
    dump: async () => readConfigDump(await read()),
    endpoints: async () => {
      const content = await read();
      return /"cluster_?[sS]tatuses"/.test(content)
        ? { hosts: readClusterHosts(content) }
        : { dump: readConfigDump(content) };
    },
  };
}

function adminSource(admin: string): DumpSource {
  return envoySource((method, path) => askAdmin(admin, path, method));
}

/** The Envoy of a Pod of a cluster. */
function podSource({ kubeconfig = "", context = "", podNamespace }: DumpFlags, proxy: string, { env }: OfflineMeshes) {
  const flags = {
    kubeconfig,
    context,
    istioNamespace: "",
    ...(podNamespace !== undefined && { namespace: podNamespace }),
  };
  return envoySource(async (method, path) => (await podEnvoy(flags, env, proxy)).admin(method, path));
}

function envoySource(admin: EnvoyAdmin): DumpSource {
  return {
    dump: async () => readConfigDump(await admin("GET", "/config_dump?include_eds")),
    endpoints: async () => ({ hosts: readClusterHosts(await admin("GET", "/clusters?format=json")) }),
  };
}

async function offlineDump(values: MeshFlags, name: string, { readMesh }: OfflineMeshes): Promise<ConfigDump> {
  const { database } = await readMesh(values);
  const resources = proxyResources(database, proxyNamed(database, name));
  const of = (typeUrl: string): SentResource[] =>
    (resources.get(typeUrl) ?? []).map(({ name: resource, version, bytes }) => ({
      name: resource,
      version,
      resource: { "@type": typeUrl, ...(resourceJson(typeUrl, bytes) as JsonObject) },
    }));
  const sent = {
    clusters: of(clusterType),
    endpoints: of(endpointType),
    listeners: of(listenerType),
    routes: of(routeType),
    secrets: of(secretType),
    extensions: of(extensionConfigType),
  };
  return configDump(controlPlaneDump(sent));
}

const timeoutMs = 30_000;

/** Asks the admin interface of an Envoy. @throws Error that names the URL */
export function askAdmin(base: string, path: string, method: "GET" | "POST"): Promise<string> {
  return ask("--admin", base, path, method);
}

/** Gets a text over HTTP. @throws Error that names the flag and the URL */
export async function ask(flag: string, base: string, path: string, method = "GET"): Promise<string> {
  const url = parseUrl(flag, base, path);
  const response = await fetch(url, { method, signal: AbortSignal.timeout(timeoutMs) }).catch((cause: unknown) => {
    throw new Error(`${flag} ${base}: no response`, { cause });
  });
  const answer = await response.text();
  if (!response.ok) throw new Error(`${flag} ${base}: ${url.pathname} answers ${response.status}: ${answer.trim()}`);
  return answer;
}

function parseUrl(flag: string, base: string, path: string): URL {
  try {
    return new URL(path, base);
  } catch {
    throw new Error(`${flag} ${base}: expected a URL such as http://127.0.0.1:15000`);
  }
}
