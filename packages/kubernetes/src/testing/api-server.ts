import { randomBytes } from "node:crypto";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { type Clock, createClock } from "@istiod/runtime";
import type { ResourceType } from "../resource-type.js";
import { WebhookAdmission } from "./admission/webhook-admission.js";
import { AccessControl } from "./auth/access-control.js";
import { defaultRoles } from "./auth/default-roles.js";
import { mastersGroup } from "./auth/rbac.js";
import { startSecretTokenController } from "./auth/secret-token-controller.js";
import { ServiceAccountTokens } from "./auth/service-account-tokens.js";
import type { TokenUser } from "./auth/authenticator.js";
import { startTypeController } from "./discovery/type-controller.js";
import { builtInTypes } from "./discovery/built-in-types.js";
import type { ServedType } from "./discovery/served-type.js";
import { TypeRegistry } from "./discovery/type-registry.js";
import type { ClusterFaults } from "./faults.js";
import { FaultInjector } from "./http/fault-injector.js";
import { execUpgrade, type ExecHandler } from "./http/exec-upgrade.js";
import { createHandler, type LoggedRequest, type PodLog } from "./http/handler.js";
import { kubeconfigOf, type Kubeconfig } from "./http/kubeconfig.js";
import { directObjects, type DirectObjects } from "./storage/direct-objects.js";
import { startNamespaceController } from "./storage/namespace-controller.js";
import type { ServerState } from "./storage/server-state.js";
import { ServiceAllocator } from "./storage/service-allocator.js";
import { resourceKey, Store } from "./storage/store.js";

export interface ApiServerOptions {
  /**
   * Types that are served without a CustomResourceDefinition: any fields, and a status subresource. Types of one group
   * and plural are versions of the same objects, the first one is preferred. Default: none.
   */
  readonly types?: readonly ResourceType[];
  /** Default: one that the system assigns. */
  readonly port?: number;
  /** Runs commands in containers. Default: there is no `exec`. */
  readonly exec?: ExecHandler;
  /** Returns the logs of containers. Default: there is no `log`. */
  readonly podLog?: PodLog;
  /** Time of timestamps, and timers of bookmarks and timeouts. Default: the system's. */
  readonly clock?: Clock;
  /** Users by bearer token, in addition to the administrator of `kubeconfig`. */
  readonly users?: Readonly<Record<string, TokenUser>>;
  /** `rbac`: by Roles and bindings. `allow-all`: authenticated users may do everything. Default: `rbac`. */
  readonly authorization?: "rbac" | "allow-all";
  /** Namespaces in addition to `default` and `kube-system`. */
  readonly namespaces?: readonly string[];
  /**
   * Rejects Pods, Services, Secrets and ConfigMaps that a real server rejects, and cluster IPs and node ports that are
   * taken or out of range. `false` is for recorded objects that were never on a real server. Default: `true`.
   */
  readonly validation?: boolean;
  /**
   * `reject`: definitions and admission policies with rules that this server does not evaluate, such as CEL, are
   * answered with 501. `ignore`: objects that break these rules are accepted. Default: `reject`.
   */
  readonly unevaluatedRules?: "reject" | "ignore";
  /** Writes the tokens of service accounts to their Secrets, as kube-controller-manager does. Default: `true`. */
  readonly secretTokens?: boolean;
  /** Milliseconds between bookmarks of a watch that asks for them. Default 60,000. */
  readonly bookmarkIntervalMs?: number;
  /** Changes after which the oldest half of the history is compacted. Default 100,000. */
  readonly historyLimit?: number;
}

/** A running API server. */
export interface ApiServer {
  /** For example `http://127.0.0.1:41234`. */
  readonly url: string;
  /** Connects as the administrator. */
  readonly kubeconfig: Kubeconfig;
  readonly tokens: {
    /** Token of the administrator, a member of `system:masters`. */
    readonly admin: string;
  };
  /** Writes and reads objects as the administrator, without HTTP and without faults. */
  readonly objects: DirectObjects;
  readonly faults: ClusterFaults;
  /** All requests since the start, the oldest first. */
  readonly requests: readonly LoggedRequest[];
  /** Ends all connections, and stops listening. */
  stop(): Promise<void>;
}

/** Starts an API server in memory that listens on loopback. */
export async function startApiServer(options: ApiServerOptions = {}): Promise<ApiServer> {
  const clock = options.clock ?? createClock();
  const store = new Store(options.historyLimit ?? 100_000);
  const shared = {
    store,
    services: new ServiceAllocator(store, options.validation ?? true),
    validation: options.validation ?? true,
    rejectsUnevaluated: options.unevaluatedRules !== "ignore",
    types: new TypeRegistry([...builtInTypes, ...additionalTypes(options.types ?? [])]),
    clock,
  };
  const state: ServerState = { ...shared, admission: new WebhookAdmission(shared) };
  const objects = directObjects(state);
  const serviceAccountTokens = new ServiceAccountTokens(store, clock);
  const certificateAuthority = "none: the server speaks HTTP";
  const stopControllers = [
    startTypeController(state),
    startNamespaceController(state),
    options.secretTokens === false
      ? () => undefined
      : startSecretTokenController(state, { tokens: serviceAccountTokens, certificateAuthority }),
  ];
  for (const name of ["default", "kube-system", ...(options.namespaces ?? [])]) {
    await objects.create({ apiVersion: "v1", kind: "Namespace", metadata: { name } });
  }
  for (const role of defaultRoles) await objects.create(role);
  const admin = randomBytes(16).toString("hex");
  const faults = new FaultInjector(state.store, clock);
  const requests: LoggedRequest[] = [];
  const users = new Map(Object.entries(options.users ?? {}));
  users.set(admin, { username: "admin", groups: [mastersGroup] });
  const watch = { bookmarkIntervalMs: options.bookmarkIntervalMs ?? 60_000, queueLimit: 10_000 };
  const { authorization = "rbac" } = options;
  const access = new AccessControl({ store: state.store, users, serviceAccountTokens, authorization });
  const handler = createHandler({
    state,
    faults,
    watch,
    access,
    serviceAccountTokens,
    requests,
    podLog: options.podLog,
  });
  const server = createServer(handler);
  if (options.exec) server.on("upgrade", execUpgrade(options.exec));
  const url = await listen(server, options.port ?? 0);
  return {
    url,
    kubeconfig: kubeconfigOf(url, admin),
    tokens: { admin },
    objects,
    faults,
    requests,
    stop: async () => {
      for (const stop of stopControllers) stop();
      await close(server);
    },
  };
}

/** Joins types of one group and plural to one with several versions. */
function additionalTypes(types: readonly ResourceType[]): readonly ServedType[] {
  const byResource = new Map<string, ResourceType[]>();
  for (const type of types) {
    const key = resourceKey(type);
    byResource.set(key, [...(byResource.get(key) ?? []), type]);
  }
  return [...byResource.values()].flatMap(([first, ...others]) => {
    if (first === undefined) return [];
    const versions = [first, ...others].map(({ version }) => ({ name: version, hasStatus: true }));
    const { group, kind, plural, namespaced } = first;
    const names = { singular: kind.toLowerCase(), shortNames: [], categories: [] };
    return [{ group, kind, plural, namespaced, ...names, versions, hasGeneration: true, isCustom: true }];
  });
}

async function listen(server: Server, port: number): Promise<string> {
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", resolve);
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function close(server: Server): Promise<void> {
  const closed = new Promise<void>((resolve) => void server.close(() => resolve()));
  server.closeAllConnections();
  await closed;
}
