import { type Finding, withoutProblems } from "./findings.js";
import type { Problem } from "./problem.js";

/** The sent and acknowledged versions of one proxy. */
export interface ProxyStatus {
  readonly proxy: string;
  readonly resources?: Readonly<
    Record<string, { readonly sent?: string; readonly acked?: string; readonly lastError?: string }>
  >;
}

/** istiod's report on its sources and proxies at one moment. */
export interface Snapshot {
  /** Something was saved that is not committed yet. */
  readonly gathering: boolean;
  readonly problems: readonly Problem[];
  readonly proxies: readonly ProxyStatus[];
}

export type ReadSnapshot = () => Promise<Snapshot>;

/** Readers of istiod's debug port on loopback. */
export interface IstiodClient {
  readonly read: ReadSnapshot;
  /** Returns the findings about accepted objects. */
  readonly readFindings: () => Promise<readonly Finding[]>;
}

export function istiodClient(port: number): IstiodClient {
  const get = async (path: string): Promise<unknown> => (await fetch(`http://127.0.0.1:${port}/debug/${path}`)).json();
  const read: ReadSnapshot = async () => {
    // The order matters: the state of the proxies must be read after the commit that ends gathering.
    const { gathering, problems } = (await get("status")) as Pick<Snapshot, "gathering" | "problems">;
    return { gathering, problems, proxies: (await get("syncz")) as ProxyStatus[] };
  };
  const readFindings = async (): Promise<readonly Finding[]> => {
    const findings = (await get("analyze")) as readonly Finding[];
    return withoutProblems(findings, ((await get("status")) as Pick<Snapshot, "problems">).problems);
  };
  return { read, readFindings };
}
