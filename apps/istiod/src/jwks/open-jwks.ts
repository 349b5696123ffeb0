import {
  AddressRules,
  DocumentClient,
  type FetchKeySet,
  KeySetDemand,
  keySetFetcher,
  refreshSchedule,
  trustedRoots,
} from "@istiod/jwks";
import { jwksFault } from "@istiod/config-schema";
import type { Database } from "@istiod/incremental";
import { fetchedJwks, jwksFetches, jwksToFetch, noProxy, type Proxy } from "@istiod/push-context";
import { systemClock } from "@istiod/runtime";
import type { Logger } from "pino";
import type { Startup } from "../phases/startup.js";
import type { JwksSettings } from "./jwks-settings.js";

/** Additional roots for servers of keys. Source: pilot/pkg/model/jwks_resolver.go. */
const extraRoots = "/cacerts/extra.pem";

/** Returns the client that fetches documents within the rules for addresses. Log lines are those of `log`. */
export function documentClient(
  { blockedRanges, rootsFile }: Pick<JwksSettings, "blockedRanges" | "rootsFile">,
  log: Pick<Logger, "warn">,
  insecureSkipVerify = false,
): DocumentClient {
  return new DocumentClient({
    rules: new AddressRules(blockedRanges),
    secureContext: trustedRoots({
      ...(rootsFile !== undefined && { systemFile: rootsFile }),
      extraFiles: [extraRoots],
      warn: (message) => log.warn(message),
    }),
    insecureSkipVerify,
  });
}

/** Returns the function that fetches key sets within the rules for addresses, and counts the fetches. */
export function keySetFetch({ settings, log, meter }: Pick<Startup, "settings" | "log" | "meter">): FetchKeySet {
  const succeeded = meter.counter({
    name: "pilot_jwks_resolver_network_fetch_success_total",
    help: "Documents fetched for the keys of tokens: key sets and OpenID configurations.",
  });
  const failed = meter.counter({
    name: "pilot_jwks_resolver_network_fetch_fail_total",
    help: "Documents that could not be fetched for the keys of tokens.",
  });
  return keySetFetcher({
    client: documentClient(settings.jwks, log.child({ scope: "model" }), settings.jwks.insecureSkipVerify),
    fault: jwksFault,
    onFetched: (isSuccess) => (isSuccess ? succeeded : failed).add(),
  });
}

/** Returns the fetches of the keys of tokens that policies need. They are not started. */
export function openJwks(startup: Startup, database: Database<Proxy>) {
  const { settings, log, meter, closers } = startup;
  const demand = new KeySetDemand({
    database,
    client: noProxy,
    wanted: jwksToFetch,
    keys: fetchedJwks,
    fetches: jwksFetches,
    fetch: keySetFetch(startup),
    schedule: refreshSchedule(settings.jwks.refreshIntervalMs),
    clock: systemClock,
    log: log.child({ scope: "model" }),
  });
  closers.defer(() => demand.stop());
  meter.observeGauge(
    {
      name: "istiod_jwks",
      help: "Key sets that policies need, by state: current, fetching, failed without keys, or stale.",
      labels: ["state"],
    },
    () => Object.entries(demand.counts()).map(([state, value]) => ({ value, labels: { state } })),
  );
  return demand;
}
