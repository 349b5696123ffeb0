import {
  ClientTLSSettings_TLSmode as Mode,
  type ClientTLSSettings,
} from "@istiod/istio-api/networking/v1alpha3/destination_rule";
import { checkFilePath, checkResourceName } from "../envoy-text.js";
import { warnOfAuthority, warnOfIdentity } from "../literal-values.js";
import { each, type Place } from "../place.js";

/** Maximum length of an SNI in bytes (Envoy's `UpstreamTlsContext.sni`). */
const maxSniBytes = 255;
const configMapPrefix = "configmap://";

/**
 * Checks client TLS settings.
 *
 * @param namespace namespace of the object that holds the settings; empty for mesh configuration
 */
export function checkClientTls(settings: ClientTLSSettings | undefined, namespace: string, place: Place): void {
  if (settings === undefined) return;
  const { mode, credentialName, caCertificates, clientCertificate, privateKey, caCrl, subjectAltNames } = settings;
  checkConfigMapName(credentialName, namespace, place.at("credentialName"));
  checkResourceName(credentialName, place.at("credentialName"));
  for (const field of ["clientCertificate", "privateKey", "caCertificates", "caCrl"] as const)
    checkFilePath(settings[field], place.at(field));
  checkRootsCredential(settings, namespace, place);
  const sniBytes = Buffer.byteLength(settings.sni);
  if (sniBytes > maxSniBytes) place.at("sni").error(`has ${sniBytes} bytes, expected at most ${maxSniBytes}`);
  warnOfAuthority(settings.sni, place.at("sni"));
  if (settings.sni.includes("\0")) place.at("sni").error("has a NUL character, which Envoy rejects");
  if (settings.insecureSkipVerify === true) {
    const verifies = caCertificates !== "" || subjectAltNames.length > 0;
    if (settings.caCertCredentialName !== "")
      place.at("insecureSkipVerify").error("is true together with caCertCredentialName, expected only one of them");
    if (mode === Mode.SIMPLE && (verifies || credentialName !== ""))
      place
        .at("insecureSkipVerify")
        .error("is true together with caCertificates, credentialName or subjectAltNames, expected none of them");
    if (mode === Mode.MUTUAL && verifies)
      place
        .at("insecureSkipVerify")
        .error("is true together with caCertificates or subjectAltNames, expected none of them");
  }
  if (mode === Mode.DISABLE) warnOfDisabled(settings, place);
  else each(subjectAltNames, place.at("subjectAltNames"), warnOfIdentity);
  if (mode === Mode.ISTIO_MUTUAL) warnOfOwnCertificates(settings, place);
  if ((mode === Mode.SIMPLE || mode === Mode.MUTUAL) && credentialName !== "") {
    if (clientCertificate !== "" || caCertificates !== "" || privateKey !== "" || caCrl !== "") {
      place.at("credentialName").error("is set together with certificate, key or CRL files, expected only one of them");
    }
    return;
  }
  if (mode === Mode.MUTUAL) {
    if (clientCertificate === "")
      place.at("clientCertificate").error("is missing, expected the path of a certificate for mutual TLS");
    if (privateKey === "") place.at("privateKey").error("is missing, expected the path of a key for mutual TLS");
  }
}

function checkRootsCredential(
  { mode, caCertCredentialName: name, caCertificates, caCrl }: ClientTLSSettings,
  namespace: string,
  place: Place,
): void {
  if (name === "") return;
  const at = place.at("caCertCredentialName");
  checkConfigMapName(name, namespace, at);
  checkResourceName(name, at);
  if (mode !== Mode.SIMPLE && mode !== Mode.MUTUAL) at.warning(`has no effect in mode ${Mode[mode]}`);
  if (caCertificates !== "") at.warning("takes precedence over caCertificates, which has no effect");
  if (caCrl !== "")
    place.at("caCrl").error("is set together with caCertCredentialName, expected the CRL in the credential");
}

/** Checks that `configmap://namespace/name` names the object's own namespace. */
function checkConfigMapName(credentialName: string, namespace: string, place: Place): void {
  if (!credentialName.startsWith(configMapPrefix)) return;
  const [owner = "", name = ""] = credentialName.slice(configMapPrefix.length).split("/");
  if (owner === "" || name === "")
    place.error(`is ${JSON.stringify(credentialName)}, expected configmap://namespace/name`);
  else if (owner !== namespace)
    place.error(
      `is ${JSON.stringify(credentialName)}, expected a ConfigMap of the object's own namespace${namespace === "" ? "" : `, ${namespace}`}`,
    );
}

/** Warns of settings of TLS where there is none. */
function warnOfDisabled(settings: ClientTLSSettings, place: Place): void {
  for (const field of ["credentialName", "caCertificates", "clientCertificate", "sni", "subjectAltNames"] as const)
    if (settings[field].length > 0)
      place
        .at(field)
        .warning("has no effect in mode DISABLE, which sends plaintext, expected another mode", "no-effect");
}

/** Warns of certificates where those of the mesh are used. */
function warnOfOwnCertificates(settings: ClientTLSSettings, place: Place): void {
  for (const field of ["credentialName", "caCertificates", "clientCertificate", "privateKey", "caCrl"] as const)
    if (settings[field] !== "")
      place
        .at(field)
        .warning(
          "has no effect in mode ISTIO_MUTUAL, which uses the certificates of the mesh, expected mode MUTUAL or SIMPLE",
          "no-effect",
        );
}
