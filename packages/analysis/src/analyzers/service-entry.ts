import {
  meshKey,
  serviceEntries,
  serviceEntriesByHost,
  serviceEntryKind,
  type ServiceEntryObject,
} from "@istiod/config-schema";
import { query } from "@istiod/incremental";
import { mesh } from "@istiod/push-context";
import { type AnalysisContext, type Analyzer, rule } from "../analyzer.js";
import { listNames } from "../suggestions.js";

/** Analyzers of ServiceEntries. */
export const serviceEntryAnalyzers: readonly Analyzer[] = [
  {
    name: "serviceentry.Analyzer",
    description: "Checks that ServiceEntries with TCP ports have addresses",
    codes: ["IST0134"],
    rules: [rule(serviceEntryKind, serviceEntries, checkAddresses)],
  },
  {
    name: "serviceentry.ConflictingServiceEntryProtocolAnalyzer",
    description: "Checks that ServiceEntries declare the same protocol for a host and port",
    codes: ["IST0177"],
    rules: [rule(serviceEntryKind, serviceEntries, checkProtocols)],
  },
];

function checkAddresses({ spec, status }: ServiceEntryObject, { q, report }: AnalysisContext): void {
  if (spec.addresses.length > 0 || (status?.addresses.length ?? 0) > 0) return;
  const ports = [...spec.ports.entries()].filter(
    ([, { protocol }]) => protocol === "" || protocol.toUpperCase() === "TCP",
  );
  if (ports.length === 0 || areAddressesAllocated(mesh(q).defaultConfig?.proxyMetadata ?? {})) return;
  for (const [i, { number, protocol }] of ports) {
    const is = protocol === "" ? "has no protocol" : "is TCP";
    report(
      "IST0134",
      ["spec", "ports", i],
      `port ${number} ${is}, and addresses are required for this protocol: without them its traffic matches every address; set spec.addresses, or allocate addresses with ISTIO_META_DNS_CAPTURE and ISTIO_META_DNS_AUTO_ALLOCATE`,
    );
  }
}

/** Reports whether proxies resolve hosts without addresses to allocated ones. */
function areAddressesAllocated(metadata: Readonly<Record<string, string>>): boolean {
  const isSet = (name: string): boolean => metadata[name] === "true";
  return (
    isSet("ISTIO_META_DNS_CAPTURE") && (isSet("ISTIO_META_DNS_AUTO_ALLOCATE") || isSet("PILOT_ENABLE_IP_AUTOALLOCATE"))
  );
}

/**
 * The protocols of each port of a host, of all ServiceEntries. Thousands of them may share a host: they are compared
 * with each other only where protocols differ.
 */
const protocolsOfHost = query("protocolsOfHost", (q, host: string): ReadonlyMap<number, ReadonlySet<string>> => {
  const found = new Map<number, Set<string>>();
  for (const { spec } of q.read(serviceEntriesByHost, host))
    for (const { number, protocol } of spec.ports)
      found.set(number, (found.get(number) ?? new Set<string>()).add(protocol.toUpperCase()));
  return found;
});

/**
 * Reports ports with different protocols, within one ServiceEntry or between ServiceEntries visible to one namespace.
 */
function checkProtocols(entry: ServiceEntryObject, { q, report }: AnalysisContext): void {
  const scopes = scopesOf(entry);
  for (const host of new Set(entry.spec.hosts)) {
    const all = q.call(protocolsOfHost, host);
    if (entry.spec.ports.every(({ number }) => (all.get(number)?.size ?? 0) < 2)) continue;
    const declared = q.read(serviceEntriesByHost, host).filter((other) => overlap(scopes, scopesOf(other)));
    for (const [i, { number, protocol }] of entry.spec.ports.entries()) {
      const conflicting = declared.filter(({ spec }) =>
        spec.ports.some((port) => port.number === number && differ(port.protocol, protocol)),
      );
      if (conflicting.length === 0) continue;
      const protocols = declared
        .flatMap(({ spec }) => spec.ports.filter((port) => port.number === number))
        .map((port) => port.protocol.toUpperCase());
      report(
        "IST0177",
        ["spec", "ports", i, "protocol"],
        `port ${number} of host ${host} has conflicting protocols (${[...new Set(protocols)].sort().join(", ")}), also in ServiceEntry ${listNames(conflicting.map(meshKey))}; declare one protocol`,
      );
    }
  }
}

function differ(a: string, b: string): boolean {
  return a.toUpperCase() !== b.toUpperCase();
}

/** Returns the namespaces to which a ServiceEntry is exported; `*` means all. */
function scopesOf({ namespace, spec: { exportTo } }: ServiceEntryObject): ReadonlySet<string> {
  return new Set(
    exportTo.length === 0 || exportTo.includes("*")
      ? ["*"]
      : exportTo.map((scope) => (scope === "." ? namespace : scope)),
  );
}

function overlap(a: ReadonlySet<string>, b: ReadonlySet<string>): boolean {
  return a.has("*") || b.has("*") || [...a].some((scope) => b.has(scope));
}
