import {
  ServerTLSSettings_TLSmode as Mode,
  ServerTLSSettings_TLSProtocol as Version,
  type ServerTLSSettings,
} from "@istiod/istio-api/networking/v1alpha3/gateway";
import { cipherListFault, isCipherSuite } from "./cipher-suites.js";
import { curveNames, curveOf } from "./curves.js";
import { checkFilePath, checkResourceName } from "../envoy-text.js";
import { each, type Place } from "../place.js";
import { atMostOne, size, type Shape } from "../shape.js";

/** Returns the shape of server TLS settings at a path such as `servers[].tls`. */
export function serverTlsShape(at: string): Shape {
  return {
    [at]: [atMostOne("tlsCertificates", "credentialNames"), atMostOne("credentialName", "credentialNames")],
    [`${at}.credentialNames`]: size(1, 2),
    [`${at}.tlsCertificates`]: size(1, 2),
  };
}

export function checkServerTls(tls: ServerTLSSettings | undefined, place: Place): void {
  if (tls === undefined) return;
  checkCiphers(tls, place);
  checkCurves(tls, place);
  checkPins(tls, place);
  checkNames(tls, place);
  checkAlpn(tls, place);
  warnOfVersions(tls, place);
  warnOfClients(tls, place);
  switch (tls.mode) {
    case Mode.ISTIO_MUTUAL:
      for (const field of [
        "serverCertificate",
        "privateKey",
        "caCertificates",
        "tlsCertificates",
        "credentialName",
        "credentialNames",
      ] as const) {
        if (tls[field].length > 0)
          place.at(field).error("is set, expected none: in mode ISTIO_MUTUAL the certificate is the workload's own");
      }
      return;
    case Mode.PASSTHROUGH:
    case Mode.AUTO_PASSTHROUGH:
      for (const field of [
        "caCrl",
        "serverCertificate",
        "privateKey",
        "caCertificates",
        "tlsCertificates",
        "credentialName",
        "credentialNames",
      ] as const) {
        if (tls[field].length > 0) place.at(field).warning(`has no effect in mode ${Mode[tls.mode]}`);
      }
      checkOneSource(tls, place);
      break;
    default:
      checkOneSource(tls, place);
      if (tls.credentialName !== "" || tls.credentialNames.length > 0) return;
      checkFiles(tls, place);
  }
  if (tls.caCrl !== "") {
    if (tls.credentialName !== "")
      place.at("caCrl").error("is set together with credentialName, expected the CRL in the credential");
    if (tls.mode === Mode.SIMPLE)
      place.at("caCrl").error("is set, expected none in mode SIMPLE, where clients show no certificate");
  }
}

/** Maximum length of a protocol in bytes (RFC 7301 §3.1). */
const maxProtocolBytes = 255;

function checkAlpn({ mode, alpnProtocols }: ServerTLSSettings, place: Place): void {
  each(alpnProtocols, place.at("alpnProtocols"), (protocol, at) => {
    const bytes = Buffer.byteLength(protocol);
    if (bytes === 0 || bytes > maxProtocolBytes)
      at.error(`has ${bytes} bytes, expected a protocol of 1 to ${maxProtocolBytes}, such as h2`);
  });
  if (alpnProtocols.length > 0 && (mode === Mode.PASSTHROUGH || mode === Mode.AUTO_PASSTHROUGH))
    place.at("alpnProtocols").warning(`has no effect in mode ${Mode[mode]}`);
}

function checkOneSource(tls: ServerTLSSettings, place: Place): void {
  const sources = [
    tls.serverCertificate !== "" && tls.privateKey !== "",
    tls.credentialName !== "",
    tls.credentialNames.length > 0,
    tls.tlsCertificates.length > 0,
  ];
  if (sources.filter(Boolean).length > 1)
    place.error(
      "has several certificates, expected one of credentialName, credentialNames, tlsCertificates, or serverCertificate with privateKey",
    );
}

function checkFiles(tls: ServerTLSSettings, place: Place): void {
  const mutual = tls.mode === Mode.MUTUAL || tls.mode === Mode.OPTIONAL_MUTUAL;
  if (mutual && tls.caCertificates === "")
    place
      .at("caCertificates")
      .error(`is missing, expected the path of a CA bundle for clients in mode ${Mode[tls.mode]}`);
  if (tls.tlsCertificates.length > 2)
    place.at("tlsCertificates").warning(`has ${tls.tlsCertificates.length} elements, expected at most 2`);
  const check = (certificate: { readonly serverCertificate: string; readonly privateKey: string }, at: Place): void => {
    if (certificate.serverCertificate === "")
      at.at("serverCertificate").error(
        `is missing, expected the path of a certificate, or credentialName, in mode ${Mode[tls.mode]}`,
      );
    if (certificate.privateKey === "")
      at.at("privateKey").error(`is missing, expected the path of a key, or credentialName, in mode ${Mode[tls.mode]}`);
  };
  if (tls.tlsCertificates.length > 0) each(tls.tlsCertificates, place.at("tlsCertificates"), check);
  else check(tls, place);
}

function checkCiphers(tls: ServerTLSSettings, place: Place): void {
  if (
    (tls.minProtocolVersion === Version.TLSV1_0 || tls.minProtocolVersion === Version.TLSV1_1) &&
    tls.cipherSuites.length === 0
  ) {
    place
      .at("minProtocolVersion")
      .warning("is below TLSV1_2, expected also cipherSuites of that version: the defaults have none");
  }
  const seen = new Set<string>();
  each(tls.cipherSuites, place.at("cipherSuites"), (cipher, at) => {
    if (!isCipherSuite(cipher)) at.warning(`is ${JSON.stringify(cipher)}, which is unknown and ignored`);
    else if (seen.has(cipher)) at.warning(`is ${JSON.stringify(cipher)} a second time`);
    seen.add(cipher);
  });
}

/** Checks cipher suites and curves, of which an unknown or repeated one makes Envoy reject the listener. */
function checkCurves({ mode, ecdhCurves, cipherSuites }: ServerTLSSettings, place: Place): void {
  if (mode !== Mode.SIMPLE && mode !== Mode.MUTUAL && mode !== Mode.OPTIONAL_MUTUAL) return;
  const fault = cipherListFault(cipherSuites);
  if (fault !== undefined) place.at("cipherSuites", fault.index).error(fault.message);
  if (ecdhCurves.join(":") === "") return;
  const seen = new Set<string>();
  each(ecdhCurves, place.at("ecdhCurves"), (names, at) => {
    for (const name of names.split(":")) {
      const curve = curveOf(name);
      if (curve === undefined) at.error(`is ${JSON.stringify(names)}, expected ${curveNames}`);
      else if (seen.has(curve)) at.error(`is ${JSON.stringify(names)}, a curve that is already listed`);
      if (curve !== undefined) seen.add(curve);
    }
  });
}

/** Checks hashes of keys in base64 and of certificates in hex, which apply to credentials of clients. */
function checkPins(tls: ServerTLSSettings, place: Place): void {
  const applies = tls.credentialName !== "" || tls.credentialNames.length > 0;
  if (!applies || (tls.mode !== Mode.MUTUAL && tls.mode !== Mode.OPTIONAL_MUTUAL)) return;
  each(tls.verifyCertificateSpki, place.at("verifyCertificateSpki"), (pin, at) => {
    if (Buffer.from(pin, "base64").length !== 32 || Buffer.from(pin, "base64").toString("base64") !== pin)
      at.error(`is ${JSON.stringify(pin)}, expected the SHA-256 of a public key in base64`);
  });
  each(tls.verifyCertificateHash, place.at("verifyCertificateHash"), (pin, at) => {
    if (!/^(?:[0-9a-f]{64}|[0-9a-f]{2}(?::[0-9a-f]{2}){31})$/i.test(pin))
      at.error(`is ${JSON.stringify(pin)}, expected the SHA-256 of a certificate in hex, with or without colons`);
  });
}

function checkNames(tls: ServerTLSSettings, place: Place): void {
  checkResourceName(tls.credentialName, place.at("credentialName"));
  checkResourceName(tls.caCertCredentialName, place.at("caCertCredentialName"));
  each(tls.credentialNames, place.at("credentialNames"), checkResourceName);
  for (const field of ["serverCertificate", "privateKey", "caCertificates", "caCrl"] as const)
    checkFilePath(tls[field], place.at(field));
  each(tls.tlsCertificates, place.at("tlsCertificates"), ({ serverCertificate, privateKey, caCertificates }, at) => {
    checkFilePath(serverCertificate, at.at("serverCertificate"));
    checkFilePath(privateKey, at.at("privateKey"));
    checkFilePath(caCertificates, at.at("caCertificates"));
  });
  const usesCredential = tls.credentialName !== "" || tls.credentialNames.length > 0;
  if (tls.mode === Mode.SIMPLE && usesCredential && tls.subjectAltNames.length > 0)
    place.at("subjectAltNames").error("is set, expected none in mode SIMPLE, where clients show no certificate");
}

/** Warns of versions of TLS that no connection can have, and of cipher suites that none of them uses. */
function warnOfVersions(
  { minProtocolVersion: min, maxProtocolVersion: max, cipherSuites }: ServerTLSSettings,
  place: Place,
) {
  if (min !== Version.TLS_AUTO && max !== Version.TLS_AUTO && min > max)
    place
      .at("minProtocolVersion")
      .warning(
        `is ${Version[min]}, above maxProtocolVersion ${Version[max]}, so that no connection succeeds, expected at most ${Version[max]}`,
        "contradiction",
      );
  if (min === Version.TLSV1_3 && cipherSuites.length > 0)
    place
      .at("cipherSuites")
      .warning("has no effect with minProtocolVersion TLSV1_3, whose cipher suites are fixed", "no-effect");
}

/** Warns of settings for certificates of clients, which show none in mode SIMPLE. */
function warnOfClients({ mode, credentialName, credentialNames, ...tls }: ServerTLSSettings, place: Place): void {
  if (mode !== Mode.SIMPLE || credentialName !== "" || credentialNames.length > 0) return;
  for (const field of ["subjectAltNames", "caCertificates"] as const)
    if (tls[field].length > 0)
      place
        .at(field)
        .warning("has no effect in mode SIMPLE, where clients show no certificate, expected mode MUTUAL", "no-effect");
}
