import {
  describeSource,
  KeySetDemand,
  keySetFetcher,
  type KeySetState,
  refreshSchedule,
  spiffeBundleDocuments,
  spiffeBundleFault,
} from "@istiod/jwks";
import { type Clock, systemClock } from "@istiod/runtime";
import type { SourceStatus } from "@istiod/status-page";
import { spiffeBundleEndpoints, spiffeBundleFetches, spiffeBundles } from "@istiod/xds-generators";
import type { Logger } from "pino";
import { noProxy } from "@istiod/push-context";
import type { Mesh } from "../phases/mesh.js";
import type { Startup } from "../phases/startup.js";
import { documentClient } from "./open-jwks.js";

/** As in Istio: pilot/pkg/trustbundle. */
const pollMs = 30 * 60_000;

/** The SPIFFE bundles in `caCertificates` of the mesh configuration. */
export interface SpiffeBundles {
  /** The state of each endpoint. */
  statuses(): readonly SourceStatus[];
  stop(): void;
}

export interface SpiffeBundlesInputs extends Pick<Startup, "settings" | "meter"> {
  readonly database: Mesh["database"];
  readonly log: Logger;
  readonly clock?: Clock;
}

/**
 * Fetches the SPIFFE bundles that agents are sent the roots of. A bundle that cannot be refreshed stays, and is
 * reported as stale. Resolves when each was fetched once, well or not, so that agents are not sent fewer roots for a
 * moment.
 */
export async function openSpiffeBundles({
  settings,
  meter,
  database,
  log,
  clock = systemClock,
}: SpiffeBundlesInputs): Promise<SpiffeBundles> {
  const demand = new KeySetDemand({
    database,
    client: noProxy,
    wanted: spiffeBundleEndpoints,
    keys: spiffeBundles,
    fetches: spiffeBundleFetches,
    fetch: keySetFetcher({ client: documentClient(settings.jwks, log), fault: spiffeBundleFault }),
    schedule: refreshSchedule(pollMs),
    // Without its roots, a trust domain would be cut off by an outage of its endpoint.
    maxStaleMs: Infinity,
    maxTotalLength: 16 * 1024 * 1024,
    clock,
    log,
    documents: spiffeBundleDocuments,
  });
  meter.observeGauge(
    {
      name: "istiod_spiffe_bundles",
      help: "SPIFFE bundles in the mesh configuration, by state: current, fetching, failed without roots, or stale.",
      labels: ["state"],
    },
    () => Object.entries(demand.counts()).map(([state, value]) => ({ value, labels: { state } })),
  );
  await demand.start();
  return {
    statuses: () => [...demand.states()].map(([key, state]) => statusOf(key, state)),
    stop: () => demand.stop(),
  };
}

function statusOf(key: string, { keys, failure }: KeySetState): SourceStatus {
  return {
    name: "SPIFFE bundle",
    location: describeSource({ issuer: "", jwksUri: key.replace(/^uri /, "") }),
    state: failure !== undefined ? "stale" : keys === undefined ? "reading" : "current",
    reasons: failure === undefined ? [] : [failure],
  };
}
