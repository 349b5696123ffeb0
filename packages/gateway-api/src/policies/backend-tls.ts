import { create } from "@bufbuild/protobuf";
import { type BackendTlsValidation, configCluster, secrets } from "@istiod/config-schema";
import type { QueryContext } from "@istiod/incremental";
import {
  type ClientTLSSettings,
  ClientTLSSettings_TLSmode as TlsMode,
  ClientTLSSettingsSchema,
} from "@istiod/istio-api/networking/v1alpha3/destination_rule";
import { rootCertificatesFault } from "../listeners/credentials.js";
import type { StatusFault } from "../status/conditions.js";

/** TLS settings of connections to a backend, and their faults by condition. */
export interface BuiltBackendTls {
  readonly settings: ClientTLSSettings;
  readonly accepted?: StatusFault;
  readonly resolvedRefs?: StatusFault;
  /** A part of the declaration that has no effect. */
  readonly note?: string;
}

/** A credential that no Secret can be: connections that need it fail. */
const invalidCredential = "invalid://";

/**
 * Returns the TLS settings of connections to a backend. Its certificate must have one of the names that the validation
 * lists, or else its hostname, as the Gateway API requires; Istio would accept any name then. Connections fail if the
 * certificates that the validation names cannot be used.
 *
 * @param namespace of the object that declares the validation
 * @param hostname SNI if the validation has none
 */
export function buildBackendTls(
  q: QueryContext,
  validation: BackendTlsValidation | undefined,
  { namespace, hostname = "" }: { readonly namespace: string; readonly hostname?: string },
): BuiltBackendTls {
  const { subjectAltNames = [], wellKnownCACertificates, caCertificateRefs: [ref, ...others] = [] } = validation ?? {};
  const sni = validation?.hostname || hostname;
  const names = subjectAltNames.length > 0 || sni === "" ? subjectAltNames : [sni];
  const settings = create(ClientTLSSettingsSchema, { mode: TlsMode.SIMPLE, sni, subjectAltNames: [...names] });
  if (wellKnownCACertificates !== undefined)
    return wellKnownCACertificates === "System"
      ? { settings }
      : {
          settings: Object.assign(settings, { credentialName: invalidCredential }),
          accepted: {
            reason: "Invalid",
            message: `Unknown wellKnownCACertificates: ${wellKnownCACertificates}`,
          },
        };
  if (ref === undefined) return { settings };
  const note = others.length === 0 ? {} : { note: "warning: only the first caCertificateRefs will be used" };
  const fault = rootsFault(q, ref, namespace);
  if (fault === undefined)
    return {
      settings: Object.assign(settings, { credentialName: `configmap://${namespace}/${ref.name}` }),
      ...note,
    };
  return {
    settings: Object.assign(settings, { credentialName: invalidCredential }),
    accepted: { reason: "NoValidCACertificate", message: `Certificate reference invalid: ${fault.detail}` },
    resolvedRefs: { reason: fault.reason, message: `${fault.about}: ${fault.detail}` },
    ...note,
  };
}

interface RootsFault {
  readonly reason: "InvalidKind" | "InvalidCACertificateRef";
  readonly about: string;
  readonly detail: string;
}

/** Returns the fault of a reference to root certificates, which must be those of a ConfigMap. */
function rootsFault(
  q: QueryContext,
  { group, kind, name }: BackendTlsValidation["caCertificateRefs"][number],
  namespace: string,
): RootsFault | undefined {
  if (group === "" && kind === "Secret")
    return q.read(secrets, `${configCluster(q)}/${namespace}/${name}`) === undefined
      ? notFound(kind, namespace, name)
      : {
          reason: "InvalidKind",
          about: "Certificate reference invalid",
          detail: `unsupported reference kind: ${kind}`,
        };
  if (group !== "" || kind !== "ConfigMap")
    return {
      reason: "InvalidKind",
      about: "Certificate reference not supported",
      detail: `unsupported kind ${kind}`,
    };
  const fault = q.call(rootCertificatesFault, { kind, namespace, name });
  if (fault === undefined) return undefined;
  return fault === `configmap ${namespace}/${name} not found`
    ? notFound(kind, namespace, name)
    : { reason: "InvalidCACertificateRef", about: "Certificate invalid", detail: fault };
}

function notFound(kind: string, namespace: string, name: string): RootsFault {
  return {
    reason: "InvalidCACertificateRef",
    about: "Certificate reference not found",
    detail: `reference ${namespace}/${name} (of kind ${kind}) not found`,
  };
}
