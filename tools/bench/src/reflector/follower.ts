// Follows objects in a process that does nothing else, and reports what that took.
import { monitorEventLoopDelay } from "node:perf_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import { type ClusterAccess, createApiClient, type FieldTree, Reflector, type ResourceType } from "@istiod/kubernetes";

/** Reflectors, or informers of `@kubernetes/client-node`. */
export type Program = "reflector" | "informer";

export interface FollowedType {
  readonly resource: ResourceType;
  readonly fields: FieldTree;
}

export interface FollowerOptions {
  readonly program: Program;
  readonly access: ClusterAccess;
  readonly types: readonly FollowedType[];
}

export interface FollowerReport {
  readonly error?: string;
  readonly objects: number;
  /** CPU seconds of the process, from its start until all objects are synced. */
  readonly cpuSeconds: number;
  /** Of these, the CPU seconds before the first request. */
  readonly startSeconds: number;
  readonly syncSeconds: number;
  readonly peakBytes: number;
  /** Longest time in milliseconds for which the event loop did not run. */
  readonly stallMs: number;
}

/** Starts to follow all types. Resolves to the number of objects when all are synced. */
type Follow = () => Promise<number>;

const resolutionMs = 1;

async function measure({ program, access, types }: FollowerOptions): Promise<FollowerReport> {
  const follow = program === "reflector" ? reflectors(access, types) : await informers(access, types);
  const delay = monitorEventLoopDelay({ resolution: resolutionMs });
  delay.enable();
  // The first interval of the monitor ends before the measurement begins.
  await sleep(10);
  delay.reset();
  const startSeconds = cpuSeconds();
  const start = performance.now();
  const objects = await follow();
  const syncSeconds = (performance.now() - start) / 1000;
  const report = { objects, cpuSeconds: cpuSeconds(), startSeconds, syncSeconds };
  // A stall that ends with the sync is recorded when the loop runs again.
  await sleep(10);
  delay.disable();
  return {
    ...report,
    peakBytes: process.resourceUsage().maxRSS * 1024,
    stallMs: Math.max(0, delay.max / 1e6 - resolutionMs),
  };
}

function reflectors(access: ClusterAccess, types: readonly FollowedType[]): Follow {
  const client = createApiClient(access);
  const objects = new Map<string, unknown>();
  const follow = ({ resource, fields }: FollowedType): Promise<void> =>
    new Promise((resolve, reject) => {
      const reflector = new Reflector({
        client,
        resource,
        fields: { fields },
        handler: {
          events: (events) => {
            for (const event of events)
              if (event.type === "set")
                objects.set(`${resource.plural}/${event.namespace}/${event.name}`, event.object);
          },
          state: ({ phase }) => phase === "synced" && resolve(),
        },
        onError: reject,
      });
      reflector.start();
    });
  return async () => {
    await Promise.all(types.map(follow));
    return objects.size;
  };
}

async function informers({ cluster, user }: ClusterAccess, types: readonly FollowedType[]): Promise<Follow> {
  const { CoreV1Api, DiscoveryV1Api, KubeConfig, makeInformer } = await import("@kubernetes/client-node");
  const config = new KubeConfig();
  // The library refuses HTTP unless TLS is skipped.
  config.loadFromClusterAndUser(
    { ...cluster, skipTLSVerify: cluster.server.startsWith("http:") },
    user ?? { name: "none" },
  );
  const [core, discovery] = [config.makeApiClient(CoreV1Api), config.makeApiClient(DiscoveryV1Api)];
  const all = {
    pods: makeInformer(config, "/api/v1/pods", () => core.listPodForAllNamespaces()),
    endpointslices: makeInformer(config, "/apis/discovery.k8s.io/v1/endpointslices", () =>
      discovery.listEndpointSliceForAllNamespaces(),
    ),
  };
  const followed = types.map(({ resource }) => all[resource.plural as keyof typeof all]);
  return async () => {
    // A failed list is an event only: the start succeeds.
    const failed = new Promise<never>((_, reject) => followed.forEach((informer) => informer.on("error", reject)));
    await Promise.race([failed, Promise.all(followed.map((informer) => informer.start()))]);
    return followed.reduce((count, informer) => count + informer.list().length, 0);
  };
}

function cpuSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}

if (process.send !== undefined) {
  process.once("message", (options) => {
    measure(options as FollowerOptions).then(
      (report) => process.send?.(report),
      (error: unknown) => process.send?.({ error: String(error) }),
    );
  });
  process.on("disconnect", () => process.exit());
}
