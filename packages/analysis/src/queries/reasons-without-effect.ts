import {
  analysisKinds,
  backends,
  backendTrafficPolicies,
  gatewayApiKinds,
  inferencePools,
  type Kind,
  kindsWithoutEffect,
  multiClusterKinds,
  readAbsentReaders,
  serviceExports,
  serviceImports,
} from "@istiod/config-schema";
import { type Collection, query, type QueryContext } from "@istiod/incremental";
import { gatewayApiFeatures } from "@istiod/gateway-api";
import { discoverySettings } from "@istiod/service-discovery";

interface ConditionalKind {
  readonly of: Collection<unknown>;
  readonly isRead: (q: QueryContext) => boolean;
  readonly variable: string;
}

/** Kinds that istiod reads only if an environment variable enables them. */
const conditional: readonly ConditionalKind[] = [
  ...gatewayApiKinds.map(({ collection: of }) => ({
    of,
    isRead: gatewayApiFeatures.enabled,
    variable: gatewayApiFeatures.enabled.variable,
  })),
  ...[backends, backendTrafficPolicies].map((of) => ({
    of,
    isRead: gatewayApiFeatures.alpha,
    variable: gatewayApiFeatures.alpha.variable,
  })),
  {
    of: inferencePools,
    isRead: gatewayApiFeatures.inferenceExtension,
    variable: gatewayApiFeatures.inferenceExtension.variable,
  },
  { of: serviceExports, isRead: discoverySettings.exportedOnly, variable: "ENABLE_MCS_SERVICE_DISCOVERY" },
  {
    of: serviceImports,
    isRead: discoverySettings.clusterSetHosts,
    variable: "ENABLE_MCS_SERVICE_DISCOVERY and ENABLE_MCS_HOST",
  },
];

/** The kinds that have no effect in some control plane. */
export const kindsThatMayLackEffect: readonly Kind[] = [
  ...new Set([
    ...kindsWithoutEffect({ injection: "", registration: "" }).keys(),
    ...multiClusterKinds(),
    ...gatewayApiKinds,
  ]),
];

/** The reasons why kinds have no effect in this control plane, by the identities of their collections. */
const reasons = query("reasonsWithoutEffect", (q): Readonly<Record<number, string>> => ({
  ...Object.fromEntries([...kindsWithoutEffect(readAbsentReaders(q))].map(([kind, why]) => [kind.collection.id, why])),
  ...Object.fromEntries(
    conditional
      .filter(({ isRead }) => !isRead(q))
      .map(({ of, variable }) => [of.id, `istiod reads it only with ${variable}`]),
  ),
}));

/**
 * Returns why the objects of a collection are accepted and have no effect in this control plane, by the parts of it
 * that run and by its variables; undefined if they have one.
 */
export function reasonWithoutEffect(q: QueryContext, of: Collection<unknown>): string | undefined {
  return q.call(reasons)[of.id];
}

const analyzedOnly = new Map(analysisKinds.map(({ kind, collection }) => [collection.id, kind]));

/** The reason why objects of a collection reach no proxy: {@link reasonWithoutEffect}, or only analysis reads them. */
export const reasonWithoutProxies = query(
  "reasonWithoutProxies",
  (q, of: Collection<unknown>): string | undefined => {
    const kind = analyzedOnly.get(of.id);
    const reason = reasonWithoutEffect(q, of);
    return reason ?? (kind && `${kind} configures no proxy; only analysis reads it`);
  },
  { key: ({ id }) => String(id) },
);
