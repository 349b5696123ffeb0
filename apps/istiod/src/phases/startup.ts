import type { Meter } from "@istiod/metrics";
import type { Closers } from "@istiod/runtime";
import type { Logger } from "pino";
import type { Registry } from "prom-client";
import { authenticationSettings } from "../authentication/authentication-settings.js";
import { connectionLimits, sharedLimits } from "../connection-limits.js";
import type { FlagValues } from "../flags.js";
import { jwksSettings } from "../jwks/jwks-settings.js";
import { listenAddress } from "../listen-address.js";
import { pushSettings } from "../push-settings.js";
import { streamLimits } from "../stream-limits.js";
import { checkExternalAuthority } from "../external-authority.js";
import { checkVariables } from "../variables.js";

/** Inputs of every phase of startup. */
export interface Startup {
  readonly values: FlagValues;
  readonly env: NodeJS.ProcessEnv;
  readonly settings: Settings;
  readonly log: Logger;
  readonly version: string;
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
  /** The registry of all metrics. */
  readonly registry: Registry;
  /** Registers metrics in it. */
  readonly meter: Meter;
  /** Closes what the phases open. */
  readonly closers: Closers;
}

/** Settings that flags and variables give in combination. */
export type Settings = ReturnType<typeof readSettings>;

/**
 * Reads the flags and variables that concern more than one phase, so that an invalid one ends startup at once.
 *
 * @throws Error that names the flag or variable
 */
export function readSettings(values: FlagValues, env: NodeJS.ProcessEnv) {
  checkVariables(env);
  checkExternalAuthority(env);
  checkAliases(values.clusterAliases);
  return {
    push: pushSettings(env),
    connections: connectionLimits(values, env),
    streams: streamLimits(env),
    limits: sharedLimits(env),
    jwks: jwksSettings(env),
    authentication: authenticationSettings(env),
    /** Addresses to listen on; undefined: not served. */
    addresses: {
      grpcAddr: listenAddress("grpcAddr", values.grpcAddr),
      secureGRPCAddr: listenAddress("secureGRPCAddr", values.secureGRPCAddr),
      httpAddr: listenAddress("httpAddr", values.httpAddr),
      httpsAddr: listenAddress("httpsAddr", values.httpsAddr),
      monitoringAddr: listenAddress("monitoringAddr", values.monitoringAddr),
    },
    shutdownMs: values.shutdownDuration,
    prepareLimitMs: values.prepareLimit,
  };
}

/** @throws Error if a cluster has several aliases, as in Istio */
function checkAliases(aliases: FlagValues["clusterAliases"]): void {
  const ids = Object.values(aliases);
  const repeated = ids.find((id, at) => ids.indexOf(id) !== at);
  if (repeated !== undefined) throw new Error(`--clusterAliases: ${repeated} has more than one alias`);
}
