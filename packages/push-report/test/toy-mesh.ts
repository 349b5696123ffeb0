import { virtualServices, wasmPluginKind } from "@istiod/config-schema";
import { commitYaml } from "@istiod/config-schema/testing";
import { Database, fact, query, type Commit, type View } from "@istiod/incremental";
import {
  ChangeAttribution,
  ChangeLog,
  Deliveries,
  statusOf,
  parseName,
  type ChangeReport,
  type ObjectStatus,
  type StatusOptions,
  type StatusSources,
} from "@istiod/push-report";
import { resource, ResourceSet, xdsType } from "@istiod/resources";
import { createXdsServer, type ResourceSource, type SourceChange, type XdsServer } from "@istiod/xds-server";

/** A client is its namespace. */
export interface Client {
  readonly namespace: string;
}

export const toyType = "toy";

const inNamespace = fact("inNamespace", (client: Client, namespace: string) => client.namespace === namespace);
/** As a message whose first field is the name, as those of Envoy are, and the second a number. */
const route = query("route", (q, key: string) => {
  const timeout = q.read(virtualServices, key)?.spec.http[0]?.timeout?.seconds ?? 0n;
  const name = new TextEncoder().encode(key);
  return resource(key, Uint8Array.of(0x0a, name.length, ...name, 0x10, Number(timeout)));
});
const routes = query(
  "routes",
  (q) =>
    ResourceSet.of(
      q
        .keys(virtualServices)
        .filter((key) => q.ask(inNamespace, key.split("/")[0] ?? ""))
        .map((key) => q.call(route, key)),
    ),
  { equals: (a, b) => a.equals(b) },
);

/** A mesh where each VirtualService is one resource for the clients of its namespace. */
export class ToyMesh {
  readonly database = new Database<Client>();
  readonly settled: ChangeReport[] = [];
  readonly log: ChangeLog;
  readonly server: XdsServer;
  readonly deliveries = new Deliveries();
  readonly #views = new Map<unknown, View<Client>>();
  readonly #attribution: ChangeAttribution;
  #notify: (change: SourceChange) => void = () => undefined;

  constructor(now: { at: number; timers: (() => void)[] }) {
    const clock = {
      now: () => now.at,
      after: (_: number, callback: () => void) => (now.timers.push(callback), () => undefined),
    };
    this.#attribution = new ChangeAttribution(clock);
    this.log = new ChangeLog({
      clock,
      settled: (report) => this.settled.push(report),
      quietMs: 100,
      pendingRevision: () => this.#attribution.pendingRevision,
    });
    const source: ResourceSource<View<Client>> = {
      serves: (typeUrl) => typeUrl === toyType || xdsType(typeUrl) !== undefined,
      ready: () => true,
      open: (node) => {
        const view = this.database.view({ namespace: node.id.split(".")[1] ?? "" });
        this.#views.set(node, view);
        return view;
      },
      resources: (view, typeUrl) => (typeUrl === toyType ? view.call(routes) : undefined),
      watch: (listener) => {
        this.#notify = listener;
        return () => undefined;
      },
      close: (view) => view.release(),
    };
    this.server = createXdsServer(source, {
      // A client has one response on its way: the next is made when it has taken that.
      maxOutstandingBytes: 0,
      attribution: this.#attribution,
      observe: (event) => {
        this.log.observe(event);
        this.deliveries.observe(event);
      },
    });
  }

  commit(yaml: string): Commit {
    this.#attribution.beforeChange();
    const commit = commitYaml(this.database, yaml);
    this.log.committed(commit);
    if (commit.changed.length > 0) this.#notify({ revision: commit.revision });
    return commit;
  }

  delete(key: string): Commit {
    this.#attribution.beforeChange();
    const commit = this.database.commit((tx) => tx.delete(virtualServices, key));
    this.log.committed(commit);
    this.#notify({ revision: commit.revision });
    return commit;
  }

  status(name: string, options?: StatusOptions): Promise<ObjectStatus> {
    return statusOf(this.statusSources(), parseName(name), options);
  }

  statusSources(): StatusSources<Client> {
    return {
      database: this.database,
      deliveries: this.deliveries,
      connections: () => this.server.connections(),
      viewOf: ({ node }) => this.#views.get(node),
      generators: { [toyType]: routes },
      lookups: {},
      changes: this.log,
      reasonUnread: ({ kind }) => (kind === "GRPCRoute" ? "CRD grpcroutes is too old" : undefined),
      reasonWithoutEffect: ({ id }) => (id === wasmPluginKind.collection.id ? "nobody sends extensions" : undefined),
    };
  }
}

export function virtualService(name: string, timeout: string): string {
  const [namespace, local] = name.split("/");
  return `---
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: ${local}, namespace: ${namespace}}
spec: {hosts: [${local}.example.com], http: [{timeout: ${timeout}, route: [{destination: {host: ${local}}}]}]}
`;
}
