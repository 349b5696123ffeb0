import type { ClusterFaults, DelayOptions, DropMode, FailOptions, RequestFilter } from "@istiod/kubernetes/testing";

/** Faults of the API server that only a process of its own can have. */
export interface InjectableFaults extends ClusterFaults {
  /**
   * Moves the server's clock: the header Date, and the times of service account tokens. The times in objects' metadata
   * stay. Lasts until it is called with 0.
   */
  skewClock(seconds: number): Promise<void>;
}

/** Sends a request to the server's admin endpoint. */
export type AdminCall = <T>(path: string, body?: object) => Promise<T>;

/** Returns calls of an admin endpoint, which only the holder of its token can make. */
export function adminCalls(url: string, token: string): AdminCall {
  return async <T>(path: string, body: object = {}) => {
    const response = await fetch(`${url}/${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}` },
      body: JSON.stringify(body),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${path}: ${text.trim()}`);
    return JSON.parse(text) as T;
  };
}

export function faultClient(call: AdminCall): InjectableFaults {
  const run = async (path: string, body?: object): Promise<void> => void (await call(path, body));
  return {
    compact: () => run("compact"),
    expireWatches: () => run("expire-watches"),
    dropConnections: async (mode: DropMode, filter: RequestFilter = {}) =>
      (await call<{ requests: number }>("drop", { mode, ...filter })).requests,
    failRequests: (options: FailOptions) => run("fail", options),
    delayRequests: (options: DelayOptions) => run("delay", options),
    freeze: () => run("freeze"),
    thaw: () => run("thaw"),
    clear: () => run("clear"),
    skewClock: (seconds) => run("skew", { seconds }),
  };
}
