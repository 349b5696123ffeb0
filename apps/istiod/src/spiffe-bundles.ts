import { meshConfig, meshConfigKey } from "@istiod/config-schema";
import {
  AddressRules,
  bundleEndpointUrl,
  describeSource,
  DocumentClient,
  keySetFetcher,
  KeySets,
  type KeySetSource,
  type KeySetState,
  readSpiffeBundle,
  refreshSchedule,
  spiffeBundleFault,
  trustedRoots,
} from "@istiod/jwks";
import { type Clock, systemClock } from "@istiod/settings";
import type { SourceStatus } from "@istiod/status-page";
import { spiffeAnchors, trustAnchors } from "@istiod/xds-generators";
import type { Logger } from "pino";
import type { Mesh } from "./phases/mesh.js";
import type { Startup } from "./phases/startup.js";

/** As in Istio: pilot/pkg/trustbundle. */
const timeoutMs = 10_000;
const pollMs = 30 * 60_000;
/** Additional roots for servers, as for those of keys. */
const extraRoots = "/cacerts/extra.pem";

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
 * Fetches the SPIFFE bundles of the mesh configuration, and keeps their roots as an input of the agents' proxy
 * configuration. A bundle that cannot be refreshed stays, and is reported as stale. Resolves when each was fetched
 * once, well or not, so that agents are not sent fewer roots for a moment.
 */
export async function openSpiffeBundles({
  settings,
  meter,
  database,
  log,
  clock = systemClock,
}: SpiffeBundlesInputs): Promise<SpiffeBundles> {
  const { blockedRanges, rootsFile } = settings.jwks;
  const client = new DocumentClient({
    rules: new AddressRules(blockedRanges),
    secureContext: trustedRoots({
      ...(rootsFile !== undefined && { systemFile: rootsFile }),
      extraFiles: [extraRoots],
      warn: (message) => log.warn(message),
    }),
  });
  const bundles = new KeySets({
    fetch: keySetFetcher({ client, fault: spiffeBundleFault }),
    schedule: refreshSchedule(pollMs),
    clock,
    // Without its roots, a trust domain would be cut off by an outage of its endpoint.
    maxStaleMs: Infinity,
    maxTotalLength: 16 * 1024 * 1024,
    onChange: (_, source, state) => {
      report(source, state, log);
      commit();
    },
  });
  const commit = (): void => {
    const roots = [...bundles.states().values()].flatMap(({ keys }) =>
      keys === undefined ? [] : (readSpiffeBundle(keys).roots ?? []),
    );
    database.commit((tx) => tx.set(trustAnchors, spiffeAnchors, roots));
  };
  const follow = (): void => bundles.want(endpointsOf(database, log));
  follow();
  let isStopped = false;
  const unobserve = database.observe({
    after: ({ changed }) => {
      // Observers must not commit.
      if (changed.some(({ collection }) => collection === meshConfig)) setImmediate(() => isStopped || follow());
    },
  });
  meter.observeGauge(
    {
      name: "istiod_spiffe_bundles",
      help: "SPIFFE bundles in the mesh configuration, by state: current, fetching, failed without roots, or stale.",
      labels: ["state"],
    },
    () => counts([...bundles.states().values()]),
  );
  await bundles.attempted();
  return {
    statuses: () => [...bundles.states()].map(([key, state]) => statusOf(key, state)),
    stop: () => {
      isStopped = true;
      unobserve();
      bundles.stop();
    },
  };
}

function endpointsOf(database: Mesh["database"], log: Logger): readonly KeySetSource[] {
  const configured = database.read(meshConfig, meshConfigKey)?.caCertificates ?? [];
  return configured.flatMap(({ certificateData: { case: kind, value } }, index) => {
    if (kind !== "spiffeBundleUrl") return [];
    const jwksUri = bundleEndpointUrl(value);
    if (jwksUri !== undefined) return [{ issuer: "", jwksUri, timeoutMs }];
    log.warn(`mesh configuration: caCertificates[${index}].spiffeBundleUrl is not an https URL, it is not fetched`);
    return [];
  });
}

function report(source: KeySetSource, state: KeySetState | undefined, log: Logger): void {
  const endpoint = describeSource(source);
  if (state?.failure !== undefined)
    log.error(
      { endpoint, reason: state.failure },
      `cannot fetch SPIFFE bundle${state.keys === undefined ? "" : ", keeping the last good one"}`,
    );
  else if (state?.keys !== undefined) log.debug({ endpoint }, "fetched SPIFFE bundle");
}

function stateOf({ keys, failure }: KeySetState): "current" | "fetching" | "failed" | "stale" {
  if (failure !== undefined) return keys === undefined ? "failed" : "stale";
  return keys === undefined ? "fetching" : "current";
}

function counts(states: readonly KeySetState[]) {
  return (["current", "fetching", "failed", "stale"] as const).map((state) => ({
    labels: { state },
    value: states.filter((each) => stateOf(each) === state).length,
  }));
}

function statusOf(key: string, state: KeySetState): SourceStatus {
  const url = key.replace(/^uri /, "");
  const kind = stateOf(state);
  return {
    name: "SPIFFE bundle",
    location: describeSource({ issuer: "", jwksUri: url }),
    state: kind === "current" ? "current" : kind === "fetching" ? "reading" : "stale",
    reasons: state.failure === undefined ? [] : [state.failure],
  };
}
