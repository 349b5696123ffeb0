import { readFile } from "node:fs/promises";
import { hostname } from "node:os";
import type { checkServerIdentity } from "node:tls";
import { create, equals } from "@bufbuild/protobuf";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { type DirectorySource, type DocumentPlace, meshConfigSource } from "@istiod/config-ingestion";
import { meshConfig, meshConfigKey } from "@istiod/config-schema";
import { XdsConfigSource } from "@istiod/config-xds";
import { type Node, NodeSchema } from "@istiod/envoy-api/envoy/config/core/v3/base";
import { Database } from "@istiod/incremental";
import { type ConfigSource, ConfigSourceSchema } from "@istiod/istio-api/mesh/v1alpha1/config";
import {
  type ClientTLSSettings,
  ClientTLSSettings_TLSmode,
} from "@istiod/istio-api/networking/v1alpha3/destination_rule";
import type { Logger } from "pino";
import { isOwnCluster } from "./cluster/own-cluster.js";
import type { ConfigFileFlags } from "./flags/config-file-flags.js";
import type { MeshFlags } from "@istiod/commands";
import { variables } from "./variables.js";

/**
 * Reads the `configSources` of the mesh configuration. They are read once, at startup, as in Istio.
 *
 * @throws IngestionError if the mesh configuration is invalid
 */
export async function readConfigSources(places: readonly DocumentPlace[]): Promise<readonly ConfigSource[]> {
  const source = meshConfigSource(places);
  try {
    await source.start(() => undefined);
    const { apply } = await source.read();
    const database = new Database<undefined>();
    database.commit(apply);
    return database.read(meshConfig, meshConfigKey)?.configSources ?? [];
  } finally {
    source.stop();
  }
}

/** Logs a warning when the `configSources` are edited, which has no effect before a restart. */
export function warnOfChangedConfigSources<C>(
  database: Database<C>,
  configSources: readonly ConfigSource[],
  log: Logger,
): void {
  let current = configSources;
  database.observe({
    after() {
      const next = database.read(meshConfig, meshConfigKey)?.configSources ?? [];
      if (isEqual(current, next)) return;
      current = next;
      log.warn("configSources of the mesh configuration changed, restart istiod for it to take effect");
    },
  });
}

function isEqual(a: readonly ConfigSource[], b: readonly ConfigSource[]): boolean {
  if (a === b) return true;
  return (
    a.length === b.length &&
    a.every((source, i) => {
      const other = b[i];
      return other !== undefined && equals(ConfigSourceSchema, source, other);
    })
  );
}

/** Opens the sources that an address can name. */
export interface ConfigSourceOpeners {
  directory(path: string): DirectorySource;
  server(url: URL, tlsSettings: ClientTLSSettings | undefined): XdsConfigSource;
}

/**
 * Opens the `configSources` other than this istiod's own cluster, with their addresses.
 *
 * @param hasCluster whether istiod reads a cluster
 * @throws Error that names the field if an address or its TLS settings cannot be used
 */
export function openConfigSources(
  configSources: readonly ConfigSource[],
  hasCluster: boolean,
  open: ConfigSourceOpeners,
): ReadonlyMap<DirectorySource | XdsConfigSource, string> {
  const opened = new Map<DirectorySource | XdsConfigSource, string>();
  for (const [i, source] of configSources.entries()) {
    if (!isOwnCluster(source.address)) opened.set(openConfigSource(source, i, open), source.address);
    else if (!hasCluster)
      throw new Error(
        `configSources[${i}].address: ${source.address}: there is no cluster, expected --kubeconfig or an istiod in a cluster`,
      );
  }
  return opened;
}

/**
 * Opens one of the `configSources`: `fs:///path` or `xds://host:port`.
 *
 * @throws Error that names the field if the address is of another form
 */
function openConfigSource(
  { address, tlsSettings }: ConfigSource,
  index: number,
  open: ConfigSourceOpeners,
): DirectorySource | XdsConfigSource {
  const at = `configSources[${index}].address: ${address}`;
  if (!URL.canParse(address)) throw new Error(`${at}: is no URL, expected fs:///path or xds://host:port`);
  const url = new URL(address);
  switch (url.protocol) {
    case "fs:":
      if (url.host !== "" || url.pathname.length < 2) throw new Error(`${at}: has no path, expected fs:///path`);
      return open.directory(decodeURIComponent(url.pathname));
    case "xds:":
      if (url.port === "" || (url.pathname !== "" && url.pathname !== "/"))
        throw new Error(`${at}: expected a host and a port, as in xds://host:port`);
      try {
        return open.server(url, tlsSettings);
      } catch (cause) {
        throw new Error(`configSources[${index}].tlsSettings: ${(cause as Error).message}`, { cause });
      }
    case "k8s:":
      throw new Error(`${at}: names no cluster, expected k8s:// for the cluster of --kubeconfig`);
    default:
      throw new Error(`${at}: scheme ${url.protocol} is not supported, expected fs:///path or xds://host:port`);
  }
}

export interface XdsServerOptions {
  readonly url: URL;
  readonly tlsSettings: ClientTLSSettings | undefined;
  readonly values: Pick<MeshFlags, "clusterID" | "namespace">;
  readonly files: Partial<Pick<ConfigFileFlags, "configSourceTokenFile">>;
  readonly env: NodeJS.ProcessEnv;
}

/** Returns the source of another control plane's objects. @throws Error that names the field of the TLS settings */
export function xdsConfigSource({ url, tlsSettings, values, files, env }: XdsServerOptions): XdsConfigSource {
  const tls = clientTls(tlsSettings, url.hostname);
  const tokenFile = files.configSourceTokenFile;
  return new XdsConfigSource({
    url: `xds://${url.host}`,
    transport: createGrpcTransport({
      baseUrl: `${tls === undefined ? "http" : "https"}://${url.host}`,
      pingIntervalMs: 30_000,
      pingTimeoutMs: 10_000,
      ...(tls && { nodeOptions: tls }),
    }),
    node: nodeOf(values, env),
    decode: { cluster: values.clusterID, revision: variables.revision.read(env) },
    // A token must not be sent in plaintext.
    ...(tokenFile &&
      tls && { headers: async () => ({ authorization: `Bearer ${(await readFile(tokenFile, "utf8")).trim()}` }) }),
  });
}

function nodeOf({ namespace }: Pick<MeshFlags, "namespace">, env: NodeJS.ProcessEnv): Node {
  const name = variables.podName.read(env) || hostname();
  return create(NodeSchema, {
    id: `sidecar~127.0.0.1~${name}.${namespace}~${namespace}.svc.cluster.local`,
    metadata: { GENERATOR: "api", NAMESPACE: namespace, ISTIO_REVISION: variables.revision.read(env) },
  });
}

interface ClientTls {
  readonly servername: string;
  readonly rejectUnauthorized: boolean;
  readonly ca?: string;
  readonly checkServerIdentity?: typeof checkServerIdentity;
}

/** Returns the TLS options of a connection; undefined for plaintext. Other modes are rejected: Istio uses plaintext. */
function clientTls(settings: ClientTLSSettings | undefined, host: string): ClientTls | undefined {
  const mode = settings?.mode ?? ClientTLSSettings_TLSmode.DISABLE;
  if (settings === undefined || mode === ClientTLSSettings_TLSmode.DISABLE) return undefined;
  if (mode !== ClientTLSSettings_TLSmode.SIMPLE)
    throw new Error(`mode: ${ClientTLSSettings_TLSmode[mode]} is not supported, expected DISABLE or SIMPLE`);
  if (settings.credentialName !== "")
    throw new Error("credentialName: is not supported without Kubernetes, give caCertificates as PEM");
  const names = settings.subjectAltNames;
  return {
    servername: settings.sni || host,
    rejectUnauthorized: settings.insecureSkipVerify !== true,
    ...(settings.caCertificates !== "" && { ca: settings.caCertificates }),
    ...(names.length > 0 && {
      checkServerIdentity: (_: string, certificate) => {
        const given = (certificate.subjectaltname ?? "").split(", ").map((name) => name.replace(/^\w+( \w+)?:/, ""));
        return given.some((name) => names.includes(name))
          ? undefined
          : new Error(`the server's certificate has none of the names ${names.join(", ")}`);
      },
    }),
  };
}
