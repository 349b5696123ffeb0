import type { ChangeReport } from "@istiod/push-report";

/** Counters of istiod's metrics. */
export interface Counters {
  /** By Istio's short names of types. */
  readonly pushes: Readonly<Record<string, number>>;
  /** gRPC message bytes without the prefix, by type URL. */
  readonly bytes: Readonly<Record<string, number>>;
  readonly proxies: number;
}

/** istiod's metrics and change reports over HTTP. */
export interface SelfReport {
  counters(): Promise<Counters>;
  /** The changes after a revision, oldest first. */
  changes(after: number): Promise<readonly ChangeReport[]>;
}

/** @param url where it serves `/metrics` and `/debug` */
export function selfReport(url: string): SelfReport {
  const get = async (path: string): Promise<Response> => {
    const response = await fetch(new URL(path, url));
    if (!response.ok) throw new Error(`${url}${path}: ${response.status} ${await response.text()}`);
    return response;
  };
  return {
    async counters() {
      const text = await (await get("/metrics")).text();
      return {
        pushes: byType(text, "pilot_xds_pushes"),
        bytes: byType(text, "pilot_xds_config_size_bytes_sum"),
        proxies: [...text.matchAll(/^pilot_xds(?:\{[^}]*\})? (\d+)/gm)].reduce(
          (sum, [, value]) => sum + Number(value),
          0,
        ),
      };
    },
    async changes(after) {
      const reports = (await (await get("/debug/changes")).json()) as readonly ChangeReport[];
      return reports.filter(({ revision }) => revision > after).sort((a, b) => a.revision - b.revision);
    },
  };
}

function byType(text: string, metric: string): Record<string, number> {
  const values: Record<string, number> = {};
  for (const [, type, value] of text.matchAll(new RegExp(`^${metric}\\{type="([^"]*)"\\} (\\S+)$`, "gm")))
    values[type ?? ""] = Number(value);
  return values;
}
