import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type DescMessage, fromBinary, type MessageShape } from "@bufbuild/protobuf";
import { ClusterLoadAssignmentSchema } from "@istiod/envoy-api/envoy/config/endpoint/v3/endpoint";
import type { LbEndpoint } from "@istiod/envoy-api/envoy/config/endpoint/v3/endpoint_components";
import { node, type NodeOptions } from "@istiod/mesh-source/testing";
import { type Discovery, startDiscovery } from "@istiod/istiod";
import { clusterType, endpointType, listenerType, routeType, secretType, type Variant } from "@istiod/xds-server";
import { EnvoyClient, type EnvoyClientOptions, XdsClient } from "@istiod/xds-server/testing";
import { pino } from "pino";
import { onTestFinished } from "vitest";
import { flagValues } from "../serving.js";
import { documents, service, workloads } from "@istiod/config-schema/testing";

/** Both variants of the protocol: every feature is tested on each. */
export const variants = ["delta", "sotw"] as const;

const shortNames: Readonly<Record<string, string>> = {
  [clusterType]: "CDS",
  [endpointType]: "EDS",
  [listenerType]: "LDS",
  [routeType]: "RDS",
  [secretType]: "SDS",
};
const fullState = new Set([clusterType, listenerType]);

/** Resources received by proxy and type: the names, with `-name` for a removed resource. */
export type Received = Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>;

export interface ProxyOptions extends NodeOptions, Pick<EnvoyClientOptions, "also" | "reject"> {
  readonly variant?: Variant;
  /** Key of the proxy in the received resources. Default: `name.namespace`. */
  readonly as?: string;
}

const sentinel = "outbound|80||sentinel.sentinel.svc.cluster.local";
const sentinelFile = "sentinel.yaml";
const sentinelService = service("sentinel.sentinel", "10.255.255.1", {
  annotations: '{networking.istio.io/exportTo: "."}',
});

/** A directory of YAML, an istiod that serves it in this process, and the proxies that are connected to it. */
export class Mesh {
  readonly directory: string;
  readonly meshConfig: string;
  /** Warnings and errors that istiod logged, except findings of the analysis. */
  readonly complaints: string[] = [];
  /** Those of them that were errors. */
  readonly errors: string[] = [];
  readonly #variant: Variant;
  readonly #proxies = new Map<string, EnvoyClient>();
  #discovery: Discovery | undefined;
  #witness: XdsClient | undefined;
  #edits = 0;

  private constructor(directory: string, variant: Variant) {
    this.directory = join(directory, "config");
    this.meshConfig = join(directory, "mesh.yaml");
    this.#variant = variant;
  }

  /** Writes the files and starts istiod. A file named `../mesh.yaml` is the mesh configuration. */
  static async start(variant: Variant, files: Readonly<Record<string, string>>): Promise<Mesh> {
    const root = await mkdtemp(join(tmpdir(), "istiod-feature-"));
    onTestFinished(() => rm(root, { recursive: true, force: true }));
    const mesh = new Mesh(root, variant);
    await mesh.write({ "../mesh.yaml": "{}\n", ...files });
    await mesh.#move(0);
    await mesh.run();
    onTestFinished(() => mesh.stop());
    return mesh;
  }

  /** Another istiod over the same files, started now; it has proxies of its own. */
  async beside(): Promise<Mesh> {
    const other = new Mesh(dirname(this.directory), this.#variant);
    await other.run();
    return other;
  }

  /** Starts istiod, and one who tells when it has committed an edit. */
  async run(): Promise<void> {
    const write = (line: string): void => {
      const { msg, level, scope } = JSON.parse(line) as {
        readonly msg: string;
        readonly level: number;
        readonly scope?: string;
      };
      if (scope === "analysis") return;
      for (const list of level >= pino.levels.values["error"]! ? [this.complaints, this.errors] : [this.complaints])
        list.push(msg);
    };
    const log = pino({ level: "warn" }, { write });
    const values = flagValues({
      configDir: this.directory,
      meshConfig: this.meshConfig,
      grpcAddr: "127.0.0.1:0",
      shutdownDuration: 0,
    });
    this.#discovery = await startDiscovery(values, { PILOT_DEBOUNCE_AFTER: "10ms" }, log, "test");
    this.#witness = new XdsClient(this.address, { variant: "delta", node: node("witness.sentinel", "10.255.0.1") });
    this.#witness.subscribe(endpointType, [sentinel]);
    await this.#witness.accept(endpointType);
  }

  async stop(): Promise<void> {
    this.#witness?.close();
    await this.#discovery?.close();
    for (const proxy of this.#proxies.values()) proxy.close();
  }

  /** Ends istiod and starts another over the same files. The proxies that were connected are not; `reconnect` them. */
  async restart(): Promise<void> {
    await this.stop();
    await this.run();
  }

  get address(): { readonly host: string; readonly port: number } {
    const found = this.#discovery?.addresses["grpcAddr"];
    if (found === undefined) throw new Error("istiod does not listen for plaintext xDS");
    return found;
  }

  /** Connects a proxy, `name.namespace`, as Envoy does, and waits until it has everything. */
  async proxy(host: string, ip: string, options: ProxyOptions = {}): Promise<EnvoyClient> {
    const { also, reject, variant = this.#variant, as = host } = options;
    const proxy = new EnvoyClient(this.address, {
      variant,
      node: node(host, ip, options),
      ...(also && { also }),
      ...(reject && { reject }),
    });
    this.#proxies.set(as, proxy);
    await proxy.initialized();
    await proxy.settled();
    return proxy;
  }

  async write(files: Readonly<Record<string, string>>): Promise<void> {
    for (const [name, text] of Object.entries(files)) {
      const file = join(this.directory, name);
      await mkdir(dirname(file), { recursive: true });
      await writeFile(`${file}.tmp`, text);
      await rename(`${file}.tmp`, file);
    }
  }

  /** Replaces text in a file, as a person does in an editor, and gives what came to whom. */
  async change(file: string, from: string | RegExp, to: string): Promise<Received> {
    const before = await readFile(join(this.directory, file), "utf8");
    const after = before.replace(from, to);
    if (before === after) throw new Error(`${file} does not have ${from}`);
    return this.edit({ [file]: after });
  }

  /** Writes files (null removes one), and gives what came to whom until istiod had done with it. */
  edit(files: Readonly<Record<string, string | null>>): Promise<Received> {
    return this.received(async () => {
      for (const [name, text] of Object.entries(files)) {
        if (text === null) await rm(join(this.directory, name));
        else await this.write({ [name]: text });
      }
    });
  }

  /**
   * Does something, waits until istiod has committed what was written, and until it owes nothing to any proxy; gives
   * what came.
   */
  async received(work: () => unknown): Promise<Received> {
    const before = new Map(
      [...this.#proxies].map(([name, proxy]) => [
        name,
        { xds: proxy.xds, count: proxy.xds.responses.length, held: held(proxy) },
      ]),
    );
    await work();
    await this.#committed();
    await Promise.all([...this.#proxies.values()].map((proxy) => proxy.settled()));
    const all: [string, Readonly<Record<string, readonly string[]>>][] = [];
    for (const [name, proxy] of this.#proxies) {
      const then = before.get(name);
      const since = then?.xds === proxy.xds ? then.count : 0;
      const came = namesReceived(proxy, since, then?.held ?? new Map());
      if (Object.keys(came).length > 0) all.push([name, came]);
    }
    return Object.fromEntries(all);
  }

  /** An edit after all others, which no proxy but the witness sees: when it was pushed, so was all before it. */
  async #committed(): Promise<void> {
    await this.#move(++this.#edits);
    const witness = this.#witness;
    if (witness === undefined) throw new Error("istiod does not run");
    const expected = sentinelAddress(this.#edits);
    for (;;) {
      const { resources } = await witness.accept(endpointType);
      if (resources.some(({ bytes }) => Buffer.from(bytes).includes(expected))) return;
    }
  }

  #move(to: number): Promise<void> {
    return this.write({
      [sentinelFile]: documents(sentinelService, workloads("sentinel.sentinel", [{ ip: sentinelAddress(to) }])),
    });
  }
}

const sentinelAddress = (edit: number): string => `10.254.${edit >> 8}.${edit & 255}`;

/** The proxy's resources by type and name. */
export function held(proxy: EnvoyClient): Map<string, Map<string, string>> {
  const types = [clusterType, endpointType, listenerType, routeType, secretType];
  const texts = (type: string): [string, string][] =>
    [...proxy.resources(type)].map(([name, { bytes }]) => [name, Buffer.from(bytes).toString("base64")]);
  return new Map(types.map((type) => [type, new Map(texts(type))]));
}

/**
 * Names in the responses. Where a state-of-the-world response must repeat everything, those that are new or other than
 * before. Removals of named types are left out: a proxy unsubscribes from what it no longer refers to, with or without
 * being told.
 */
function namesReceived(
  proxy: EnvoyClient,
  since: number,
  before: ReturnType<typeof held>,
): Record<string, readonly string[]> {
  const found = new Map<string, Set<string>>();
  const now = held(proxy);
  for (const { typeUrl, names, removed } of proxy.xds.responses.slice(since)) {
    if (typeUrl.startsWith("fence/")) continue;
    const short = shortNames[typeUrl] ?? typeUrl;
    const all = found.get(short) ?? new Set<string>();
    found.set(short, all);
    const old = before.get(typeUrl) ?? new Map<string, string>();
    const current = now.get(typeUrl) ?? new Map<string, string>();
    if (proxy.variant === "sotw" && fullState.has(typeUrl)) {
      for (const [name, text] of current) if (old.get(name) !== text) all.add(name);
    } else for (const name of names) all.add(name);
    if (fullState.has(typeUrl)) {
      const gone = proxy.variant === "sotw" ? [...old.keys()].filter((name) => !current.has(name)) : removed;
      for (const name of gone) all.add(`-${name}`);
    }
  }
  return Object.fromEntries([...found].map(([type, names]) => [type, [...names].sort()]).sort());
}

/** Addresses of a cluster's endpoints in the proxy. */
export function endpointAddresses(proxy: EnvoyClient, cluster: string): string[] {
  return resource(proxy, ClusterLoadAssignmentSchema, cluster)
    .endpoints.flatMap(({ lbEndpoints }) => lbEndpoints.map(addressOf))
    .sort();
}

function addressOf({ hostIdentifier: host }: LbEndpoint): string {
  const address = host.case === "endpoint" ? host.value.address?.address : undefined;
  return address?.case === "socketAddress"
    ? `${address.value.address}:${address.value.portSpecifier.value}`
    : `no socket address: ${host.case}`;
}

/** A resource that the proxy has, decoded. */
export function resource<D extends DescMessage>(proxy: EnvoyClient, schema: D, name: string): MessageShape<D> {
  const typeUrl = `type.googleapis.com/${schema.typeName}`;
  const found = proxy.resources(typeUrl).get(name);
  if (found === undefined)
    throw new Error(`the proxy has no ${name}, but ${[...proxy.resources(typeUrl).keys()].join(", ")}`);
  return fromBinary(schema, found.bytes);
}
