import {
  destinationRuleKind,
  type DestinationRuleObject,
  destinationRules,
  type FieldPath,
  serviceEntries,
  virtualServices,
} from "@istiod/config-schema";
import { index, type QueryContext } from "@istiod/incremental";
import {
  ClientTLSSettings_TLSmode as TlsMode,
  type ClientTLSSettings,
} from "@istiod/istio-api/networking/v1alpha3/destination_rule";
import {
  modeOfPort,
  type MutualTlsMode,
  namespacePeerModes,
  overriddenParts,
  type PeerModes,
  resolveHost,
} from "@istiod/push-context";
import { discoverySettings, isTls, type Service, service, servicesByHostname } from "@istiod/service-discovery";
import { type AnalysisContext, type Analyzer, rule } from "../../analyzer.js";
import { isInjected, nameOfProfile, type PodProfile, selectedPods } from "../../queries/pods.js";
import { portsOfHost } from "../../queries/route-places.js";
import { redirectedPorts } from "../../queries/workload-sources.js";
import { portsOfWorkload, type WorkloadPort } from "../../queries/workload-ports.js";

export const destinationRuleAnalyzer: Analyzer = {
  name: "mesh.DestinationRuleAnalyzer",
  description: "Checks for DestinationRules that others override, and for TLS settings that the destination rejects",
  codes: ["MESH0011", "MESH0017", "MESH0047"],
  rules: [
    rule(destinationRuleKind, destinationRules, checkConflicts),
    rule(destinationRuleKind, destinationRules, checkTls),
    rule(destinationRuleKind, destinationRules, checkDoubleTls),
  ],
};

/** Reports parts that no client has, because rules of the same namespace and host override them. */
function checkConflicts(object: DestinationRuleObject, { q, report }: AnalysisContext): void {
  const { all, trafficPolicy, subsets } = overriddenParts(q, object);
  const named = ({ namespace, name }: DestinationRuleObject): string =>
    `DestinationRule ${namespace}/${name}, which is for the same host and takes precedence`;
  if (all !== undefined)
    report(
      "MESH0011",
      ["spec", "host"],
      `the DestinationRule has no effect: it is overridden by ${named(all)}; merge the two`,
    );
  if (trafficPolicy !== undefined)
    report(
      "MESH0011",
      ["spec", "trafficPolicy"],
      `trafficPolicy has no effect: it is overridden by that of ${named(trafficPolicy)}; merge the two`,
    );
  for (const [i, { name }] of object.spec.subsets.entries()) {
    const other = subsets.get(name);
    if (other !== undefined)
      report(
        "MESH0011",
        ["spec", "subsets", i],
        `subset ${JSON.stringify(name)} has no effect: it is overridden by that of ${named(other)}`,
      );
  }
}

function checkTls({ namespace, spec }: DestinationRuleObject, context: AnalysisContext): void {
  const policies = [
    { policy: spec.trafficPolicy, path: ["spec", "trafficPolicy"], labels: {} },
    ...spec.subsets.map((s, i) => ({
      policy: s.trafficPolicy,
      path: ["spec", "subsets", i, "trafficPolicy"],
      labels: s.labels,
    })),
  ];
  const { host } = spec;
  for (const { policy, path, labels: subset } of policies) {
    const portLevel = (policy?.portLevelSettings ?? []).map(({ port, tls }) => ({ port: port?.number, tls }));
    // A port with settings of its own inherits none.
    const isCovered = (port: number): boolean => !portLevel.some((settings) => settings.port === port);
    if (policy?.tls !== undefined)
      checkTlsSettings(policy.tls, [...path, "tls"], { namespace, host, subset, isCovered }, context);
    for (const [i, { port, tls }] of portLevel.entries())
      if (tls !== undefined) {
        const at = [...path, "portLevelSettings", i, "tls"];
        checkTlsSettings(tls, at, { namespace, host, subset, isCovered: (number) => number === port }, context);
      }
  }
}

interface Destination {
  readonly namespace: string;
  readonly host: string;
  readonly subset: Readonly<Record<string, string>>;
  /** Reports whether the settings are for a port of the Service. */
  readonly isCovered: (port: number) => boolean;
}

/**
 * Compares client TLS settings with the PeerAuthentication mode of the destination's workloads: STRICT accepts only
 * mutual TLS, DISABLE only plaintext.
 */
function checkTlsSettings(
  tls: ClientTLSSettings,
  path: FieldPath,
  { namespace, host, subset, isCovered }: Destination,
  { q, report }: AnalysisContext,
): void {
  const hostname = resolveHost(host, { namespace, domain: discoverySettings.domain(q) });
  const mutual = tls.mode === TlsMode.ISTIO_MUTUAL;
  for (const key of q.call(servicesByHostname, hostname)) {
    const found = q.call(service, key);
    if (mutual && found?.registry === "External" && found.meshExternal && !selectsWorkloads(q, found)) {
      report(
        "MESH0017",
        path,
        `tls mode ISTIO_MUTUAL is set for ${hostname}, which ServiceEntry ${found.namespace}/${found.objectName} declares outside of the mesh (MESH_EXTERNAL): its servers reject certificates of the mesh; set tls mode SIMPLE, or MUTUAL with certificates that they accept`,
      );
      return;
    }
    if (found?.selector === undefined || found.registry !== "Kubernetes") continue;
    const rejection = firstRejection(q, found, { subset, isCovered, mutual });
    if (rejection === undefined) continue;
    const { profile, mode, port } = rejection;
    const workload = nameOfProfile(q, profile);
    if (mode === undefined) {
      report(
        "MESH0017",
        path,
        `tls mode ISTIO_MUTUAL is set, and ${workload} has no sidecar: connections to ${hostname} are rejected by it; inject a sidecar, or remove tls, so that clients use mutual TLS where it is possible`,
      );
      return;
    }
    const [at, to] = port === undefined ? ["", ""] : [`port ${port.target} of `, `port ${port.number} of `];
    report(
      "MESH0017",
      path,
      `tls mode ${TlsMode[tls.mode]} conflicts with PeerAuthentication, which is ${mode} for ${at}${workload}: connections to ${to}${hostname} are rejected; ${mutual ? "set tls mode DISABLE" : "set tls mode ISTIO_MUTUAL, or remove tls"}`,
    );
    return;
  }
}

/** Reports whether the endpoints of a ServiceEntry are workloads of the mesh, which may accept its certificates. */
function selectsWorkloads(q: QueryContext, { namespace, objectName }: Service): boolean {
  return q.read(serviceEntries, `${namespace}/${objectName}`)?.spec.workloadSelector !== undefined;
}

interface Settings extends Pick<Destination, "subset" | "isCovered"> {
  /** True for mutual TLS of the mesh, false for everything else. */
  readonly mutual: boolean;
}

/** Workloads that reject connections to a Service. */
interface Rejection {
  readonly profile: PodProfile;
  /** The mode by which they do; undefined if they have no proxy. */
  readonly mode?: MutualTlsMode;
  /** The port, if the mode is not that of the whole workload. */
  readonly port?: CoveredPort;
}

/** Returns the first workloads of a Service that reject connections with TLS settings. */
function firstRejection(
  q: QueryContext,
  { namespace, objectName, selector }: Service,
  { subset, isCovered, mutual }: Settings,
): Rejection | undefined {
  const modesOf = namespacePeerModes(q, namespace);
  const rejecting = mutual ? "DISABLE" : "STRICT";
  for (const profile of q.call(selectedPods, { namespace, labels: { ...selector, ...subset } })) {
    const isInMesh = profile.ambient || profile.machine === true || isInjected(q, profile);
    if (!isInMesh && mutual) return { profile };
    const modes = modesOf(profile.labels);
    // Most workloads have no such mode, so that their ports do not matter.
    if (!isInMesh || ![modes.mode, ...Object.values(modes.ports)].includes(rejecting)) continue;
    const isRedirected = mutual ? () => true : redirectedPorts(q, profile);
    const port = coveredPorts(q, profile, { objectName, isCovered }).find(
      ({ target }) => modeAt(modes, target) === rejecting && (target === undefined || isRedirected(target)),
    );
    if (port === undefined) continue;
    return { profile, mode: rejecting, ...(rejecting !== modes.mode && { port }) };
  }
  return undefined;
}

/** A port of a Service by number, and the port of a workload that it leads to. Both are undefined if none is known. */
type CoveredPort = Partial<Pick<WorkloadPort, "number" | "target">>;

/** Returns the ports of a Service that settings are for. */
function coveredPorts(
  q: QueryContext,
  profile: PodProfile,
  { objectName, isCovered }: Pick<Service, "objectName"> & Pick<Destination, "isCovered">,
): readonly CoveredPort[] {
  const own = `${profile.namespace}/${objectName}`;
  const ports = portsOfWorkload(q, profile).filter((port) => port.service === own);
  return ports.length === 0 ? [{}] : ports.filter(({ number }) => isCovered(number));
}

/** Returns the mode of a port of a workload, whose number is the key of `portLevelMtls`. */
function modeAt(modes: PeerModes, port: number | undefined): MutualTlsMode {
  return port === undefined ? modes.mode : modeOfPort(modes, port);
}

/** VirtualServices by the hosts to which their HTTP routes lead, as they name them. */
const byHttpDestination = index(virtualServices, "byHttpDestinationHost", ({ spec }) => [
  ...new Set(spec.http.flatMap(({ route }) => route.flatMap(({ destination }) => destination?.host ?? []))),
]);

/** Reports TLS that is originated at ports where applications send TLS, unless an HTTP route leads to the host. */
function checkDoubleTls({ namespace, spec }: DestinationRuleObject, { q, report }: AnalysisContext): void {
  const policy = spec.trafficPolicy;
  const isOriginated = (tls: ClientTLSSettings | undefined): boolean =>
    tls?.mode === TlsMode.SIMPLE || tls?.mode === TlsMode.MUTUAL;
  const settings = [
    { tls: policy?.tls, path: ["spec", "trafficPolicy", "tls"], port: undefined },
    ...(policy?.portLevelSettings ?? []).map(({ tls, port }, i) => ({
      tls,
      path: ["spec", "trafficPolicy", "portLevelSettings", i, "tls"],
      port: port?.number,
    })),
  ].filter(({ tls }) => isOriginated(tls));
  if (settings.length === 0) return;
  const hostname = resolveHost(spec.host, { namespace, domain: discoverySettings.domain(q) });
  if ([spec.host, hostname].some((host) => q.read(byHttpDestination, host).length > 0)) return;
  const own = new Set((policy?.portLevelSettings ?? []).filter(({ tls }) => tls).map(({ port }) => port?.number));
  for (const { tls, path, port } of settings) {
    const encrypted = (portsOfHost(q, hostname) ?? []).filter(
      ({ number, protocol }) => isTls(protocol) && (port === undefined ? !own.has(number) : port === number),
    );
    const [first] = encrypted;
    if (first === undefined || tls === undefined) continue;
    report(
      "MESH0047",
      [...path, "mode"],
      `tls mode ${TlsMode[tls.mode]} encrypts connections to port ${first.number} of ${hostname} once more: its protocol is ${first.protocol}, so that applications send TLS there; set the port's protocol to HTTP if they do not, or remove tls`,
    );
  }
}
