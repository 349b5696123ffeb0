import { setImmediate as turn, setTimeout as sleep } from "node:timers/promises";
import { DirectorySource, Ingestion } from "@istiod/config-ingestion";
import { MemorySource } from "@istiod/config-ingestion/testing";
import { Database } from "@istiod/incremental";
import type { Proxy } from "@istiod/push-context";
import { createXdsServer, type XdsServer } from "@istiod/xds-server";
import { EnvoyClient } from "@istiod/xds-server/testing";
import fc from "fast-check";
import { pino } from "pino";
import { Registry } from "prom-client";
import { expect, it } from "vitest";
import { prometheusMeter } from "@istiod/prometheus";
import { MeshSource } from "@istiod/mesh-source";
import { reporting } from "@istiod/mesh-log";
import { meshSources } from "../src/sources.js";
import { census } from "./census.js";
import { flagValues } from "./serving.js";

const object = (kind: string, apiVersion: string, namespace: string, name: string, rest: object): string =>
  JSON.stringify({
    apiVersion,
    kind,
    metadata: { name, namespace, resourceVersion: `${Math.random()}`, labels: { app: name } },
    ...rest,
  });
const networking = "networking.istio.io/v1";

const pod = (namespace: string, app: string, name: string, ip: string): string =>
  object("Pod", "v1", namespace, name, {
    spec: { serviceAccountName: app, containers: [{ name: "app" }] },
    status: { phase: "Running", podIP: ip, podIPs: [{ ip }] },
  }).replace(`"app":"${name}"`, `"app":"${app}","version":"v1"`);
const service = (namespace: string, name: string, number: number): string =>
  object("Service", "v1", namespace, name, {
    spec: {
      clusterIP: `172.16.${number >> 8}.${number & 255}`,
      selector: { app: name },
      ports: [{ name: "http", port: 80, targetPort: 8080 }],
    },
  });
const slice = (namespace: string, name: string, pods: readonly (readonly [name: string, ip: string])[]): string =>
  object("EndpointSlice", "discovery.k8s.io/v1", namespace, name, {
    addressType: "IPv4",
    ports: [{ name: "http", port: 8080 }],
    endpoints: pods.map(([pod, ip]) => ({
      addresses: [ip],
      conditions: { ready: true },
      targetRef: { kind: "Pod", name: pod, namespace },
    })),
  }).replace('"labels":{', '"labels":{"kubernetes.io/service-name":"' + name + '",');
const routes = (namespace: string, name: string, path: string): string =>
  object("VirtualService", networking, namespace, name, {
    spec: {
      hosts: [`${name}.${namespace}.svc.cluster.local`],
      http: [{ match: [{ uri: { prefix: path } }], route: [{ destination: { host: name } }] }],
    },
  });
const rule = (namespace: string, name: string, connections: number): string =>
  object("DestinationRule", networking, namespace, name, {
    spec: {
      host: name,
      trafficPolicy: { connectionPool: { tcp: { maxConnections: connections } } },
      subsets: [{ name: "v1", labels: { version: "v1" } }],
    },
  });
const policy = (namespace: string, path: string): string =>
  object("AuthorizationPolicy", "security.istio.io/v1", namespace, "allow", {
    spec: { action: "ALLOW", rules: [{ to: [{ operation: { paths: [path] } }] }] },
  });

const services = ["a", "b"].flatMap((namespace, n) =>
  ["cart", "pay", "web"].map((name, i) => ({ namespace, name, number: 1 + 3 * n + i })),
);
type Files = ReadonlyMap<string, string>;

/** Permanent objects: services with a pod each, and rules. */
const mesh: Files = new Map(
  services.flatMap(({ namespace, name, number }) => [
    [`pod.${namespace}.${name}`, pod(namespace, name, `${name}-0`, `10.0.0.${number}`)],
    [`service.${namespace}.${name}`, service(namespace, name, number)],
    [`slice.${namespace}.${name}`, slice(namespace, name, [[`${name}-0`, `10.0.0.${number}`]])],
    [`routes.${namespace}.${name}`, routes(namespace, name, "/")],
    [`rule.${namespace}.${name}`, rule(namespace, name, 100)],
    [`policy.${namespace}`, policy(namespace, "/api/*")],
  ]),
);

/** Edits of a round, with names, addresses and numbers that no other round has. */
const edits: readonly ((
  of: (typeof services)[number],
  n: number,
) => readonly (readonly [file: string, text: string])[])[] = [
  ({ namespace, name }, n) => {
    const ip = `10.${1 + (n >> 16)}.${(n >> 8) & 255}.${n & 255}`;
    return [
      [`pod.${n}`, pod(namespace, name, `${name}-${n}`, ip)],
      [`slice.${namespace}.${name}`, slice(namespace, name, [[`${name}-${n}`, ip]])],
    ];
  },
  ({ namespace }, n) => [
    [`service.${n}`, service(namespace, `new-${n}`, n)],
    [`routes.${n}`, routes(namespace, `new-${n}`, `/${n}`)],
    [`slice.${n}`, slice(namespace, `new-${n}`, [])],
  ],
  ({ namespace, name }, n) => [[`routes.${namespace}.${name}`, routes(namespace, name, `/revision-${n}`)]],
  ({ namespace, name }, n) => [[`rule.${namespace}.${name}`, rule(namespace, name, n)]],
  ({ namespace }, n) => [[`policy.${namespace}`, policy(namespace, `/revision-${n}`)]],
  ({ namespace }, n) => [
    [
      `mtls.${namespace}`,
      object("PeerAuthentication", "security.istio.io/v1", namespace, `mtls-${n}`, {
        spec: { selector: { matchLabels: { app: `app-${n}` } }, mtls: { mode: "STRICT" } },
      }),
    ],
  ],
  ({ namespace }, n) => [
    [
      `scope.${namespace}`,
      object("Sidecar", networking, namespace, `scope-${n}`, { spec: { egress: [{ hosts: ["./*"] }] } }),
    ],
  ],
  ({ namespace, name }) => [
    [`routes.${namespace}.${name}`, routes(namespace, name, "/").replace('"prefix"', '"prefixes"')],
  ],
];

/** Istiod within this process: what reads, computes, serves and reports, without files and sockets. */
class Istiod {
  readonly database = new Database<Proxy>();
  readonly registry = new Registry();
  readonly server: XdsServer;
  readonly #source = new MemorySource();
  readonly #ingestion: Ingestion<Proxy>;
  readonly #report: ReturnType<typeof reporting>;
  readonly #files = new Map<string, string>();
  /** Changes of which more may be heard. Each keeps the proxies that it reached. */
  #unsettled = 0;

  constructor() {
    const count = (line: string): void => {
      if (line.includes('"msg":"changed"')) this.#unsettled++;
      if (line.includes('"msg":"change settled"')) this.#unsettled--;
    };
    const log = pino({ level: "info" }, { write: count });
    const source = new MeshSource({ database: this.database, log });
    this.#report = reporting({
      meter: prometheusMeter(this.registry),
      database: this.database,
      log,
    });
    this.#write(mesh);
    // The directory's place is taken by memory.
    const others = meshSources(flagValues({ configDir: "." }), {}).all.filter(
      (each) => !(each instanceof DirectorySource),
    );
    this.#ingestion = new Ingestion(this.database, [...others, this.#source], {
      debounceAfter: 0,
      onProblems: (found) => this.#report.problems(found),
      onResolved: (gone) => this.#report.resolved(gone),
    });
    this.server = createXdsServer(source, {
      attribution: this.#report.attribution,
      observe: (event) => this.#report.observe(event),
      bodyCacheMs: 0,
      doubtMemoryMs: 0,
    });
    this.ready = this.#ingestion.ready.then(() => this.#report.started());
  }

  readonly ready: Promise<void>;

  /** Makes the files these, and no others; resolves when what of that is a change is committed. */
  async become(files: Files): Promise<void> {
    this.#write(files);
    while (this.#ingestion.isDebouncing) await turn();
    await this.#ingestion.idle();
  }

  /** Waits until nothing more is heard of any change. */
  async settled(): Promise<void> {
    while (this.#unsettled > 0) await sleep(20);
  }

  /** Number of time series, except those of Node. */
  async series(): Promise<number> {
    return (await this.registry.getMetricsAsJSON())
      .filter(({ name }) => !name.startsWith("nodejs_"))
      .reduce((sum, { values }) => sum + values.length, 0);
  }

  async stop(): Promise<void> {
    await this.server.close({ graceMs: 0 });
    await this.#ingestion.stop();
    this.#report.stop();
  }

  #write(files: Files): void {
    for (const file of [...this.#files.keys()]) if (!files.has(file)) this.#source.remove(`${file}.yaml`);
    for (const [file, text] of files) if (this.#files.get(file) !== text) this.#source.set(`${file}.yaml`, text);
    this.#files.clear();
    for (const [file, text] of files) this.#files.set(file, text);
  }
}

const nodeId = (namespace: string, name: string, ip: string): string =>
  `sidecar~${ip}~${name}.${namespace}~${namespace}.svc.cluster.local`;

/**
 * More commits than are remembered, two in a round; and more objects that come and go than are. After that these are as
 * many as they will be.
 */
const warmUp = 130;
const rounds = 120;
const crowd: Files = new Map(
  Array.from({ length: 1100 }, (_, i) => [`crowd.${i}`, pod("a", "crowd", `crowd-${i}`, `10.8.${i >> 8}.${i & 255}`)]),
);
/** As many strings come before it is looked which of them are in use. */
const stringsBetween = 3000;

it(
  "law: after changes that were undone, and proxies that went, it keeps what it kept before them",
  { timeout: 300_000 },
  async () => {
    const istiod = new Istiod();
    await istiod.ready;
    const proxy = (variant: "delta" | "sotw", node: string, reject?: () => string | undefined): EnvoyClient =>
      new EnvoyClient(istiod.server, { variant, node, history: 1, ...(reject && { reject }) });
    const steady = services
      .slice(0, 4)
      .map(({ namespace, name, number }, i) =>
        proxy(i % 2 === 0 ? "delta" : "sotw", nodeId(namespace, `${name}-0`, `10.0.0.${number}`)),
      );
    await Promise.all(steady.map((each) => each.initialized()));
    const settled = (): Promise<unknown> => Promise.all(steady.map((each) => each.settled()));
    // A stream remembers each type that was asked for on it, and waiting asks for one more.
    const renewed = async (): Promise<void> => {
      await istiod.become(mesh);
      for (const each of steady) each.reconnect();
      await settled();
    };
    let n = 0;
    const random = fc.sample(
      fc.tuple(fc.shuffledSubarray([...edits.keys()], { minLength: 1, maxLength: 4 }), fc.nat(services.length - 1)),
      { numRuns: warmUp + rounds, seed: 1 },
    );
    const round = async (): Promise<void> => {
      const [chosen, at] = random[n++] as (typeof random)[number];
      await istiod.become(
        new Map([
          ...mesh,
          ...chosen.flatMap((edit) => edits[edit]?.(services[at] as (typeof services)[number], 1000 + n) ?? []),
        ]),
      );
      const guest = proxy(
        n % 2 === 0 ? "delta" : "sotw",
        nodeId("a", `guest-${n}`, `10.9.${n >> 8}.${n & 255}`),
        n % 5 === 0 ? () => `refused in round ${n}` : undefined,
      );
      await settled();
      guest.close();
      if (n % 10 === 0) return renewed();
      await istiod.become(mesh);
      await settled();
    };
    const state = async (): Promise<Record<string, number>> => {
      // The state kept for the last change depends on its kind, so both states end with the same change.
      await istiod.become(new Map([...mesh, ["policy.a", policy("a", "/last")]]));
      await renewed();
      await istiod.settled();
      istiod.database.evict();
      const { memos, edges, facts, views } = istiod.database.stats();
      return { memos, edges, facts, views, series: await istiod.series() };
    };
    await istiod.become(new Map([...mesh, ...crowd]));
    await istiod.become(mesh);
    while (n < warmUp) await round();
    const [stateBefore, before] = [await state(), await census()];
    while (n < warmUp + rounds) await round();
    const [stateAfter, after] = [await state(), await census()];
    expect(stateAfter).toEqual(stateBefore);
    const grown = [...after]
      .map(([of, count]) => [of, count - (before.get(of) ?? 0)] as const)
      .filter(([of, more]) => more >= (of.includes("string") ? stringsBetween : rounds / 2));
    expect(grown).toEqual([]);
    for (const each of steady) each.close();
    await istiod.stop();
  },
);
