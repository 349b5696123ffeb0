import { setTimeout as wait } from "node:timers/promises";
import { endpointType, routeType } from "@istiod/xds-server";
import { isRemote, type RemoteCluster } from "../cluster/remote-cluster.js";
import type { TestCluster } from "../cluster/test-cluster.js";
import type { Fault } from "./fault.js";

/** More requests than a fault lasts. */
const always = 1_000_000_000;
/** Requests that read: the program's own writes pass. */
const reads = { method: "GET", times: always } as const;
const skewSeconds = 3600;
/** Maximum time without data of a watch before istiod opens another, in seconds. */
const watchIdleSeconds = 100;

const nothing = async (): Promise<void> => undefined;
const clear = ({ cluster }: { readonly cluster: TestCluster }): Promise<void> => cluster.faults.clear();

/** Ends the watches: cleanly, or by an interrupted or reset connection. Returns their number. */
function dropWatches({ faults }: TestCluster, at = 0): Promise<number> {
  const mode = (["reset", "end", "abort"] as const)[at % 3] ?? "reset";
  return faults.dropConnections(mode, { watch: true });
}

/** All faults. */
export const faults: readonly Fault[] = [
  {
    name: "server-killed",
    startup: "not-ready",
    isNoticed: true,
    begin: ({ cluster }) => cluster.relay.cut(),
    end: ({ cluster }) => cluster.relay.open(),
  },
  watchesDropped(),
  {
    name: "compacted",
    startup: "ready",
    async begin({ cluster }) {
      await cluster.faults.compact();
      await dropWatches(cluster);
    },
    end: nothing,
  },
  {
    name: "watches-expired",
    startup: "ready",
    begin: ({ cluster }) => cluster.faults.expireWatches(),
    end: nothing,
  },
  {
    name: "clock-skewed",
    startup: "ready",
    async begin({ cluster }) {
      await cluster.skewClock(skewSeconds);
      await dropWatches(cluster);
    },
    end: ({ cluster }) => cluster.skewClock(0),
  },
  {
    name: "too-many-requests",
    startup: "not-ready",
    isNoticed: true,
    async begin({ cluster }) {
      await cluster.faults.failRequests({ status: 429, retryAfterSeconds: 3, ...reads });
      await dropWatches(cluster);
    },
    end: clear,
  },
  {
    name: "one-kind-fails",
    startup: "not-ready",
    isNoticed: true,
    async begin({ cluster }) {
      const pathPrefix = "/apis/discovery.k8s.io/v1/endpointslices";
      await cluster.faults.failRequests({ status: 500, pathPrefix, ...reads });
      await cluster.faults.dropConnections("reset", { pathPrefix, watch: true });
    },
    end: clear,
  },
  {
    name: "definition-deleted",
    startup: "ready",
    isCurrent: true,
    changes: ["service-add", "policy"],
    isEffect: ({ typeUrl, part }) => typeUrl === routeType && part !== undefined,
    begin: ({ cluster }) => cluster.objects.undefine("VirtualService"),
    async end({ cluster, mesh }) {
      await cluster.objects.define("VirtualService");
      await cluster.objects.write(mesh.objects().filter(({ kind }) => kind === "VirtualService"));
    },
  },
  {
    name: "permissions-revoked",
    startup: "not-ready",
    isNoticed: true,
    async begin({ cluster }) {
      await cluster.objects.revoke();
      await dropWatches(cluster);
    },
    end: ({ cluster }) => cluster.objects.allow(),
  },
  {
    name: "server-hangs",
    startup: "not-ready",
    begin: async ({ cluster }) => cluster.relay.stall("all"),
    end: async ({ cluster }) => cluster.relay.resume(),
  },
  {
    name: "watches-silent",
    startup: "ready",
    minSeconds: watchIdleSeconds,
    begin: async ({ cluster }) => cluster.relay.stall("open"),
    // The connections stay silent: istiod has to open others.
    end: nothing,
  },
  {
    name: "remote-gone",
    startup: "not-ready",
    startupEnv: { PILOT_REMOTE_CLUSTER_TIMEOUT: "0s" },
    isNoticed: true,
    begin: ({ remote }) => remote.cluster.relay.cut(),
    end: ({ remote }) => remote.cluster.relay.open(),
  },
  {
    name: "remote-gone-at-start",
    startup: "ready",
    startupEnv: { PILOT_REMOTE_CLUSTER_TIMEOUT: "2s" },
    startupEffect: ({ typeUrl, part = "" }) => typeUrl === endpointType && isRemote(part),
    begin: ({ remote }) => remote.cluster.relay.cut(),
    end: ({ remote }) => remote.cluster.relay.open(),
  },
  credentialsRotated(),
];

/** Writes new credentials of the remote cluster at least twenty times, once a second. */
function credentialsRotated(): Fault {
  let isOver = true;
  let rotating: Promise<void> = Promise.resolve();
  const rotate = async (remote: RemoteCluster): Promise<void> => {
    for (let rotations = 0; !isOver || rotations < 20; rotations++) {
      await remote.rotateCredentials();
      await wait(isOver ? 100 : 1000);
    }
  };
  return {
    name: "remote-credentials-rotated",
    startup: "ready",
    async begin({ remote }) {
      isOver = false;
      rotating = rotate(remote);
    },
    async end() {
      isOver = true;
      await rotating;
    },
  };
}

/** Drops the watches at least a hundred times, as fast as they are opened. */
function watchesDropped(): Fault {
  let isOver = true;
  let dropping: Promise<void> = Promise.resolve();
  const drop = async (cluster: TestCluster): Promise<void> => {
    for (let drops = 0; !isOver || drops < 100; await wait(20)) if ((await dropWatches(cluster, drops)) > 0) drops++;
  };
  return {
    name: "watches-dropped",
    startup: "ready",
    async begin({ cluster }) {
      isOver = false;
      dropping = drop(cluster);
    },
    async end() {
      isOver = true;
      await dropping;
    },
  };
}
