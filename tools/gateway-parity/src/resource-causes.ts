import { isDeepStrictEqual } from "node:util";
import { type JsonObject, omit, type Pair } from "@istiod/parity";
import { type CompareContext, ofKind } from "./compare-context.js";

interface TlsPolicySpec {
  readonly targetRefs: readonly { readonly name: string; readonly kind: string }[];
  readonly validation: { readonly hostname: string; readonly subjectAltNames?: readonly unknown[] };
}

/** Returns the BackendTLSPolicies that may apply to a cluster. */
function policiesOf(context: CompareContext): readonly TlsPolicySpec[] {
  return ofKind(context, "BackendTLSPolicy")
    .filter(({ metadata, spec }) =>
      (spec as TlsPolicySpec).targetRefs.some(({ kind, name }) =>
        kind === "Service"
          ? context.name.includes(`||${name}.${metadata.namespace}.svc.`)
          : ofKind(context, "ServiceEntry").some(
              (entry) =>
                entry.metadata.name === name &&
                (entry.spec as { hosts: string[] }).hosts.some((host) => context.name.endsWith(`||${host}`)),
            ),
      ),
    )
    .map(({ spec }) => spec as TlsPolicySpec);
}

export function withoutHostname([theirs, ours]: Pair, context: CompareContext): Pair {
  const hostnames = policiesOf(context)
    .filter(({ validation }) => (validation.subjectAltNames ?? []).length === 0)
    .map(({ validation }) => validation.hostname);
  if (ours === undefined || hostnames.length === 0 || JSON.stringify(theirs).includes("matchSubjectAltNames"))
    return [theirs, ours];
  const isHostname = (value: unknown): boolean => hostnames.some((exact) => isDeepStrictEqual(value, [{ exact }]));
  return [theirs, omit(ours, (key, value) => key === "matchSubjectAltNames" && isHostname(value))];
}

export function withoutHttp2([theirs, ours]: Pair, context: CompareContext): Pair {
  const isNamed = ofKind(context, "GRPCRoute").some(({ spec }) =>
    [...JSON.stringify(spec).matchAll(/"name":"([^"]*)"/g)].some(([, name]) => context.name.includes(`||${name}.`)),
  );
  if (!isNamed || policiesOf(context).length === 0 || theirs === undefined || ours === undefined) return [theirs, ours];
  if ("typedExtensionProtocolOptions" in theirs) return [theirs, ours];
  return [
    theirs,
    omit(
      ours,
      (key, value) =>
        key === "typedExtensionProtocolOptions" || (key === "alpnProtocols" && isDeepStrictEqual(value, ["h2"])),
    ),
  ];
}

/** Gateways present their client certificate to backends of BackendTLSPolicies. */
export function withoutClientCertificate([theirs, ours]: Pair, context: CompareContext): Pair {
  const names = ofKind(context, "Gateway").flatMap(({ metadata, spec }) => {
    const { tls } = spec as { tls?: { backend?: { clientCertificateRef?: { name: string; namespace?: string } } } };
    const ref = tls?.backend?.clientCertificateRef;
    return ref === undefined ? [] : [`kubernetes-gateway://${ref.namespace ?? metadata.namespace}/${ref.name}`];
  });
  const isPresented = (value: unknown): boolean =>
    names.includes((value as readonly { name: string }[])[0]?.name ?? "");
  if (theirs === undefined || ours === undefined || policiesOf(context).length === 0) return [theirs, ours];
  return [theirs, omit(ours, (key, value) => key === "tlsCertificateSdsSecretConfigs" && isPresented(value))];
}

/** With roots that cannot be used, Istio uses the system's, or lets sidecars connect without TLS. */
export function withoutInvalidRoots([theirs, ours]: Pair, context: CompareContext): Pair {
  if (theirs === undefined || ours === undefined || policiesOf(context).length === 0) return [theirs, ours];
  const [a, b] = [theirs, ours].map(({ transportSocket = {}, transportSocketMatches = [] }) =>
    JSON.stringify([transportSocket, transportSocketMatches]),
  ) as [string, string];
  if (!b.includes('"name":"invalid://"')) return [theirs, ours];
  const roots = "validationContextSdsSecretConfig";
  const ofSystem = a.includes('"name":"file-root:system"');
  if (!ofSystem && a.includes(roots)) return [theirs, ours];
  const isOmitted = (key: string): boolean => (ofSystem ? key === roots : /^transportSocket(Matches)?$/.test(key));
  return [omit(theirs, isOmitted), omit(ours, isOmitted)];
}

interface Chain {
  readonly filterChainMatch?: object;
  readonly transportSocket?: object;
}
const chainsOf = (listener: JsonObject): readonly Chain[] =>
  (listener["filterChains"] ?? []) as unknown as readonly Chain[];
const withChains = (listener: JsonObject, filterChains: readonly Chain[]): JsonObject => ({
  ...listener,
  filterChains: filterChains as never,
});

/** Istio serves the workload's certificate, with its roots, if the first of several is not valid. */
export function withoutOwnCertificate([theirs, ours]: Pair): Pair {
  if (theirs === undefined || ours === undefined) return [theirs, ours];
  const own = chainsOf(ours);
  const isOwn = (chain: Chain): boolean =>
    /"tlsCertificateSdsSecretConfigs":\[\{"name":"default"/.test(JSON.stringify(chain.transportSocket ?? {}));
  const changed = chainsOf(theirs).map((chain, at) => {
    const other = own[at];
    return isOwn(chain) &&
      other?.transportSocket &&
      !isOwn(other) &&
      isDeepStrictEqual(chain.filterChainMatch, other.filterChainMatch)
      ? { ...chain, transportSocket: other.transportSocket }
      : chain;
  });
  return [withChains(theirs, changed), ours];
}

/** Istio reads the roots of a Gateway in the namespace of the ListenerSet to whose listeners they apply. */
export function withoutOtherRoots([theirs, ours]: Pair, context: CompareContext): Pair {
  if (theirs === undefined || ours === undefined) return [theirs, ours];
  const sets = ofKind(context, "ListenerSet").map(({ metadata }) => metadata.namespace ?? "");
  const gateways = ofKind(context, "Gateway").flatMap(({ metadata, spec }) =>
    JSON.stringify(spec).includes('"caCertificateRefs"') ? [metadata.namespace ?? ""] : [],
  );
  let text = JSON.stringify(theirs);
  for (const set of sets)
    for (const gateway of gateways)
      for (const [own, kind, name] of JSON.stringify(ours).matchAll(/"([a-z-]+):\/\/[^/"]*\/([^/"]*-cacert)"/g))
        if (own === `"${kind}://${gateway}/${name}"`) text = text.replaceAll(`"${kind}://${set}/${name}"`, own);
  return [JSON.parse(text) as JsonObject, ours];
}

/** Envoy rejects a listener with two chains that match the same. */
export function withoutSameMatches([theirs, ours]: Pair): Pair {
  if (theirs === undefined) return [theirs, ours];
  const seen = new Set<string>();
  const kept = chainsOf(theirs).filter(({ filterChainMatch = {} }) => {
    const key = JSON.stringify(filterChainMatch);
    return seen.size < seen.add(key).size;
  });
  return [withChains(theirs, kept), ours];
}

interface Host {
  readonly name: string;
  readonly domains: readonly string[];
  readonly routes?: readonly object[];
}
const hostsOf = (routes: JsonObject): readonly Host[] => (routes["virtualHosts"] ?? []) as unknown as readonly Host[];

/** A listener of several for HTTPS at one port answers 421 for the hosts of the others, and 404 only for its own. */
export function withoutMisdirected([theirs, ours]: Pair, { name }: CompareContext): Pair {
  if (!name.startsWith("https.") || theirs === undefined || ours === undefined) return [theirs, ours];
  const hosts = hostsOf(ours);
  if (!hosts.some((host) => host.name.startsWith("misdirected:"))) return [theirs, ours];
  const isAnswer = (host: Host): boolean => /^(misdirected|blackhole):/.test(host.name);
  const without = (of: JsonObject): JsonObject => ({
    ...of,
    virtualHosts: hostsOf(of).filter((host) => !isAnswer(host)) as never,
  });
  return [without(theirs), without(ours)];
}

/** Istio resolves aliases in the routes of their own ports only. */
export function withoutAliases(pair: Pair, context: CompareContext): Pair {
  const resolve = (text: string): string =>
    ofKind(context, "Service").reduce((result, { metadata, spec }) => {
      const { externalName } = spec as { readonly externalName?: string };
      const host = `${metadata.name}.${metadata.namespace}.svc.cluster.local`;
      return externalName === undefined ? result : result.replaceAll(host, externalName);
    }, text);
  const [theirs, ours] = pair.map((of) => of && (JSON.parse(resolve(JSON.stringify(of))) as JsonObject));
  return [theirs, ours];
}

/** Istio names pickers in the routes of sidecars, which have no filter that asks them. */
export function withoutPickers([theirs, ours]: Pair, { name, objects }: CompareContext): Pair {
  const isOfPool = objects.some(({ kind }) => kind === "InferencePool") && /^\d+$/.test(name);
  if (!isOfPool || theirs === undefined) return [theirs, ours];
  const picker = "envoy.filters.http.ext_proc";
  const isPicker = (key: string, value: unknown): boolean =>
    key === "typedPerFilterConfig" && isDeepStrictEqual(Object.keys(value as object), [picker]);
  return [omit(theirs, isPicker), ours];
}

/** Sorts the routes of virtual hosts that have routes of several hostnames. */
export function withoutOrder(routes: JsonObject): JsonObject {
  const isFromRoutes = (host: Host): boolean =>
    new Set([...JSON.stringify(host).matchAll(/\/virtual-service\/([^"]*)"/g)].map(([, key]) => key)).size > 1;
  const key = (route: object): string => JSON.stringify(route);
  return {
    ...routes,
    virtualHosts: hostsOf(routes).map((host) =>
      isFromRoutes(host)
        ? { ...host, routes: [...(host.routes ?? [])].sort((a, b) => (key(a) < key(b) ? -1 : 1)) }
        : host,
    ) as never,
  };
}
