import { create } from "@bufbuild/protobuf";
import { type FrontendValidation, type GatewayTls, type ListenerTls, usableCiphers } from "@istiod/config-schema";
import type { QueryContext } from "@istiod/incremental";
import {
  type ServerTLSSettings,
  ServerTLSSettings_TLSmode as TlsMode,
  ServerTLSSettingsSchema,
} from "@istiod/istio-api/networking/v1alpha3/gateway";
import type { StatusFault } from "../status/conditions.js";
import { certificateCredential, type Credential, type CredentialUser, rootsCredential } from "./credentials.js";

/** TLS settings of a server, and the fault because of which it does not serve. */
export interface BuiltTls {
  readonly settings: ServerTLSSettings;
  readonly fault?: StatusFault;
  /** Parts that are valid, or left out, and not served. */
  readonly notes?: readonly string[];
}

export interface ListenerTlsInput {
  readonly tls: ListenerTls;
  /** Settings of the Gateway, for the validation of clients. */
  readonly ofGateway: GatewayTls | undefined;
  /** Namespace of the Gateway, to which its references are relative. */
  readonly gatewayNamespace: string;
  readonly port: number;
  readonly user: CredentialUser;
  /** The listener passes TLS connections of other networks to where their SNI says. */
  readonly isAutoPassthrough: boolean;
}

const terminateModeOption = "gateway.istio.io/tls-terminate-mode";
const cipherSuitesOption = "gateway.istio.io/tls-cipher-suites";
const mostCertificates = 2;

/** Returns the TLS settings of a server. Source: `buildTLS` in pilot/pkg/config/kube/gateway/conversion.go. */
export function buildListenerTls(q: QueryContext, input: ListenerTlsInput): BuiltTls {
  const { tls, isAutoPassthrough } = input;
  const { mode = "Terminate" } = tls;
  if (mode === "Terminate") return terminatedTls(q, input);
  const settings = create(ServerTLSSettingsSchema, { cipherSuites: ciphersOf(tls) });
  if (mode === "Passthrough") settings.mode = isAutoPassthrough ? TlsMode.AUTO_PASSTHROUGH : TlsMode.PASSTHROUGH;
  return { settings };
}

function terminatedTls(q: QueryContext, input: ListenerTlsInput): BuiltTls {
  const { tls, user } = input;
  const option = tls.options[terminateModeOption];
  const settings = create(ServerTLSSettingsSchema, { mode: optionalModes[option ?? ""] ?? TlsMode.SIMPLE });
  if (option === "ISTIO_SIMPLE") return { settings: Object.assign(settings, { credentialName: "builtin://" }) };
  if (option === "ISTIO_MUTUAL") return { settings };
  if (tls.certificateRefs.length > mostCertificates)
    return {
      settings,
      fault: {
        reason: "InvalidCertificateRef",
        message: `TLS mode can only support up to ${mostCertificates} server certificates`,
      },
    };
  const certificates = tls.certificateRefs.map((ref) => certificateCredential(q, ref, user));
  const names = certificates.flatMap((found) => ("name" in found ? [found.name] : []));
  const faults = certificates.flatMap((found) => ("fault" in found ? [found.fault] : []));
  if (names.length === 0) return { settings, fault: joined(faults) ?? noCertificate };
  const [name = ""] = names;
  if (names.length === 1) settings.credentialName = name;
  else settings.credentialNames = names;
  const fault = setClientValidation(q, settings, { ...input, option });
  if (fault !== undefined) return { settings, fault };
  settings.cipherSuites = ciphersOf(tls);
  return { settings, notes: certificates.flatMap(noteOf) };
}

/** Returns the reason for which a certificate is not served, although the listener is. */
function noteOf(found: Credential): readonly string[] {
  if ("fault" in found) return [`left out: ${found.fault.message}`];
  return found.note === undefined ? [] : [found.note];
}

const noCertificate: StatusFault = {
  reason: "InvalidCertificateRef",
  message: "certificateRefs is empty, expected a reference to a certificate",
};

const optionalModes: Readonly<Record<string, TlsMode | undefined>> = {
  MUTUAL: TlsMode.MUTUAL,
  OPTIONAL_MUTUAL: TlsMode.OPTIONAL_MUTUAL,
  ISTIO_MUTUAL: TlsMode.ISTIO_MUTUAL,
};

/** Sets the validation of clients that the Gateway declares for a port. Returns its fault. */
function setClientValidation(
  q: QueryContext,
  settings: ServerTLSSettings,
  { ofGateway, gatewayNamespace, port, option }: ListenerTlsInput & { readonly option: string | undefined },
): StatusFault | undefined {
  const validation = validationOfPort(ofGateway, port);
  const [ref, ...others] = validation?.caCertificateRefs ?? [];
  if (validation === undefined || ref === undefined) return undefined;
  if (others.length > 0)
    return { reason: "InvalidCACertificateRef", message: "only one caCertificateRef is supported" };
  const roots = rootsCredential(q, ref, { kind: "Gateway", namespace: gatewayNamespace });
  if ("fault" in roots) return roots.fault;
  const isInsecure = validation.mode === "AllowInsecureFallback";
  const ofOption = option === "MUTUAL" || option === "OPTIONAL_MUTUAL" ? optionalModes[option] : undefined;
  settings.mode = ofOption ?? (isInsecure ? TlsMode.OPTIONAL_MUTUAL : TlsMode.MUTUAL);
  settings.insecureSkipVerify = ofOption === undefined && isInsecure;
  settings.caCertCredentialName = roots.name;
  return undefined;
}

/** Returns the validation of clients at a port: its own, or else that of all ports. */
function validationOfPort(tls: GatewayTls | undefined, port: number): FrontendValidation | undefined {
  const own = tls?.frontend?.perPort.find((each) => each.port === port);
  return own === undefined ? tls?.frontend?.default.validation : own.validation;
}

function ciphersOf({ options }: ListenerTls): string[] {
  const list = options[cipherSuitesOption] ?? "";
  return list === "" ? [] : [...usableCiphers(list.split(",").map((cipher) => cipher.trim()))];
}

/** Returns one fault for several: the reason of the first, with all messages. */
function joined([first, ...others]: readonly StatusFault[]): StatusFault | undefined {
  return first && { ...first, message: [first, ...others].map(({ message }) => message).join("; ") };
}
