/** A problem in a file, as istiod reports it: `file:line: Kind namespace/name: field: message`. */
export interface Problem {
  readonly severity: "error" | "warning";
  readonly text: string;
}

/** What one proxy was sent and has acknowledged. */
export interface ProxyStatus {
  readonly proxy: string;
  readonly resources?: Readonly<
    Record<string, { readonly sent?: string; readonly acked?: string; readonly lastError?: string }>
  >;
}

/** What istiod says of its sources and its proxies at one moment. */
export interface Snapshot {
  /** Something was saved that is not committed yet. */
  readonly gathering: boolean;
  readonly problems: readonly Problem[];
  readonly proxies: readonly ProxyStatus[];
}

export type ReadSnapshot = () => Promise<Snapshot>;

/** Returns a reader of istiod's debug port on loopback. */
export function istiodClient(port: number): ReadSnapshot {
  const get = async (path: string): Promise<unknown> => (await fetch(`http://127.0.0.1:${port}/debug/${path}`)).json();
  return async () => {
    // In this order: what is committed when gathering is over is in the proxies' state that is read after it.
    const { gathering, problems } = (await get("status")) as Pick<Snapshot, "gathering" | "problems">;
    return { gathering, problems, proxies: (await get("syncz")) as ProxyStatus[] };
  };
}
