import type { MeshConfig } from "@istiod/istio-api/mesh/v1alpha1/config";
import { nearestNames } from "@istiod/settings";
import type { HTTPRetry } from "@istiod/istio-api/networking/v1alpha3/virtual_service";
import { checkPort } from "../validation/network/addresses.js";
import { checkConnectionPool } from "../validation/traffic/connection-pool.js";
import { checkDuration, formatDuration, nanoseconds } from "../validation/durations.js";
import { checkHttpRetry, unknownRetryCondition } from "../validation/traffic/http-retry.js";
import { checkLocalityLb, checkZoneAwareLb } from "../validation/traffic/locality.js";
import { checkWildcardDomain, isDnsLabel } from "../validation/network/names.js";
import { checkOutlierDetection } from "../validation/traffic/outlier-detection.js";
import { isCipherSuite } from "../validation/traffic/cipher-suites.js";
import { curveNames, curveOf } from "../validation/traffic/curves.js";
import { each, type Place } from "../validation/place.js";
import { checkLabelSelector } from "./label-selector.js";
import { checkProxyConfig } from "./check-proxy-config.js";
import { checkAccessLogFormat } from "./provider-formats.js";

const hour = 3_600_000_000_000n;

/**
 * Validates mesh configuration with defaults applied, as Istio's `ValidateMeshConfig` does, except extension providers,
 * which are checked as the document has them.
 */
export function checkMeshConfig(mesh: MeshConfig, place: Place): void {
  checkPort(mesh.proxyListenPort, place.at("proxyListenPort"));
  checkDuration(mesh.connectTimeout, place.at("connectTimeout"));
  if (nanoseconds(mesh.connectTimeout) > hour)
    place.at("connectTimeout").error(`is ${formatDuration(mesh.connectTimeout)}, expected at most 1h`);
  if (nanoseconds(mesh.protocolDetectionTimeout) % 1_000_000n !== 0n)
    place
      .at("protocolDetectionTimeout")
      .error(`is ${formatDuration(mesh.protocolDetectionTimeout)}, expected whole milliseconds`);
  if (mesh.defaultConfig === undefined) place.at("defaultConfig").error("is missing, expected a proxy configuration");
  else checkProxyConfig(mesh.defaultConfig, place.at("defaultConfig"));
  checkLocalityLb(mesh.localityLbSetting, true, place.at("localityLbSetting"));
  checkZoneAwareLb(mesh.zoneAwareLbSetting, true, place.at("zoneAwareLbSetting"));
  each(mesh.serviceSettings, place.at("serviceSettings"), (settings, at) =>
    each(settings.hosts, at.at("hosts"), checkWildcardDomain),
  );
  each(mesh.discoverySelectors, place.at("discoverySelectors"), checkLabelSelector);
  checkTrustDomain(mesh.trustDomain, place.at("trustDomain"));
  each(mesh.trustDomainAliases, place.at("trustDomainAliases"), checkTrustDomain);
  checkAccessLogFormat(mesh, place);
  if (/^(?:stdout|stderr)$/.test(mesh.accessLogFile))
    place
      .at("accessLogFile")
      .warning(
        `is ${JSON.stringify(mesh.accessLogFile)}, a file in the proxy's working directory, expected "/dev/${mesh.accessLogFile}"`,
      );
  each(mesh.caCertificates, place.at("caCertificates"), ({ certificateData: { case: kind, value } }, at) => {
    if (kind === "pem" && !value.includes("-----BEGIN CERTIFICATE-----"))
      at.at("pem").warning("has no certificate, and is ignored, expected PEM: -----BEGIN CERTIFICATE-----");
  });
  for (const field of ["inboundClusterStatName", "outboundClusterStatName"] as const)
    warnOfStatName(mesh[field], place.at(field));
  if ((mesh.meshMTLS?.ecdhCurves.length ?? 0) > 0)
    place.at("meshMTLS", "ecdhCurves").error("is set, expected none: the curves of the mesh's TLS are fixed");
  checkMeshCurves(mesh.tlsDefaults?.ecdhCurves ?? [], place.at("tlsDefaults", "ecdhCurves"));
  checkConnectionPool(mesh.defaultTrafficPolicy?.connectionPool, place.at("defaultTrafficPolicy", "connectionPool"));
  checkOutlierDetection(
    mesh.defaultTrafficPolicy?.outlierDetection,
    place.at("defaultTrafficPolicy", "outlierDetection"),
  );
  const unknown = unknownRetryCondition(mesh.defaultHttpRetryPolicy?.retryOn ?? "");
  if (unknown !== undefined)
    place
      .at("defaultHttpRetryPolicy", "retryOn")
      .warning(
        `has ${JSON.stringify(unknown)}, which proxies ignore, expected an HTTP status or a condition such as 5xx`,
      );
  checkMeshCiphers(mesh.tlsDefaults?.cipherSuites ?? [], place.at("tlsDefaults", "cipherSuites"));
  checkMeshCiphers(mesh.meshMTLS?.cipherSuites ?? [], place.at("meshMTLS", "cipherSuites"));
  checkInboundRetries(mesh.defaultInboundHttpRetryPolicy, place.at("defaultInboundHttpRetryPolicy"));
}

/** Variables in the names of statistics. */
const statVariables = [
  "%SERVICE%",
  "%SERVICE_NAME%",
  "%SERVICE_FQDN%",
  "%SERVICE_PORT%",
  "%SERVICE_PORT_NAME%",
  "%SUBSET_NAME%",
  "%TARGET_PORT%",
];

function warnOfStatName(pattern: string, place: Place): void {
  const rest = statVariables.reduce((text, variable) => text.replaceAll(variable, " "), pattern);
  for (const [, variable = ""] of rest.matchAll(/(?=(%[\d_.-]*[A-Za-z][\w.-]*%))/g)) {
    const [near] = nearestNames(variable, statVariables, 1);
    const expected = near === undefined ? `one of ${statVariables.join(", ")}` : near;
    place.warning(`has ${variable}, which is not a variable and stays as it is, expected ${expected}`);
  }
}

/** Checks the mesh's curves, of which unknown and repeated ones are left out, since Envoy would reject listeners. */
function checkMeshCurves(names: readonly string[], place: Place): void {
  const seen = new Set<string>();
  each(names, place, (name, at) => {
    const curve = curveOf(name);
    if (curve === undefined) {
      if (name !== "") at.warning(`is ${JSON.stringify(name)}, which is ignored, expected ${curveNames}`);
    } else if (seen.has(curve)) at.warning(`is ${JSON.stringify(name)} a second time`);
    if (curve !== undefined) seen.add(curve);
  });
}

/** Checks the mesh's cipher suites, of which unknown ones are left out, since Envoy would reject listeners. */
function checkMeshCiphers(names: readonly string[], place: Place): void {
  each(names, place, (name, at) => {
    if (name !== "" && !isCipherSuite(name))
      at.warning(
        `is ${JSON.stringify(name)}, which is ignored, expected a cipher suite such as ECDHE-RSA-AES256-GCM-SHA384`,
      );
  });
}

/**
 * Checks inbound retries. An inbound route leads to one cluster with one endpoint, so only the number, the condition
 * and the backoff of retries apply.
 */
function checkInboundRetries(retries: HTTPRetry | undefined, place: Place): void {
  if (retries === undefined) return;
  checkHttpRetry(retries, place);
  if (retries.attempts === 0 && retries.backoff !== undefined)
    place.at("backoff").error("is set with attempts 0, which disables retries, expected none");
  for (const field of ["perTryTimeout", "retryRemoteLocalities", "retryIgnorePreviousHosts"] as const) {
    if (retries[field] !== undefined) place.at(field).warning("has no effect on inbound routes");
  }
}

/** Checks a trust domain: DNS labels, of which the last may be empty or a number. */
function checkTrustDomain(domain: string, place: Place): void {
  const parts = domain.split(".");
  const sound = domain !== "" && parts.every((p, i) => isDnsLabel(p) || (p === "" && i === parts.length - 1));
  if (!sound) place.error(`is ${JSON.stringify(domain)}, expected a domain name`);
  else if (domain !== domain.toLowerCase())
    place.warning(
      `is ${JSON.stringify(domain)}, in which SPIFFE allows no capital letters: other software rejects its identities, expected ${JSON.stringify(domain.toLowerCase())}`,
    );
}
