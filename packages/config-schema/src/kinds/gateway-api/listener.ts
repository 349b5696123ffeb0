import { warnOfIgnored, warnOfOthers } from "./field-rules.js";
import type { Fields } from "../../decoding/fields.js";
import { expectedSubdomain } from "../../validation/kubernetes/fields.js";
import { isSubdomain } from "../../validation/kubernetes/names.js";
import {
  expectedHostname,
  isAnyText,
  isGatewayApiHostname,
  optionalChecked,
  optionalEnum,
  requiredString,
} from "./checked-fields.js";
import { decodeNamespaceSelection, type NamespaceSelection } from "./namespace-selection.js";
import { decodeGroupKind, decodeReference, type GroupKind, type ObjectReference } from "./references.js";

/** TLS settings of a listener. */
export interface ListenerTls {
  /** Absent: `Terminate`. */
  readonly mode?: "Terminate" | "Passthrough";
  /** References to certificates, by default Secrets. */
  readonly certificateRefs: readonly ObjectReference[];
  readonly options: Readonly<Record<string, string>>;
}

/** The routes that may attach to a listener. */
export interface AllowedRoutes {
  readonly namespaces?: NamespaceSelection;
  /** Kinds of routes. Empty: those that the protocol supports. */
  readonly kinds: readonly GroupKind[];
}

/** A listener of a Gateway or a ListenerSet. */
export interface KubernetesGatewayListener {
  readonly name: string;
  /** Absent: all hosts. */
  readonly hostname?: string;
  /** 0 if a listener of a ListenerSet has none. */
  readonly port: number;
  /** For example `HTTP`, `HTTPS`, `TLS`, `TCP` or `HBONE`. */
  readonly protocol: string;
  readonly tls?: ListenerTls;
  readonly allowedRoutes?: AllowedRoutes;
}

/**
 * Decodes the listeners of a spec, and reports names that several of them have.
 *
 * @param portRequired reports listeners without a port
 */
export function decodeListeners(spec: Fields, portRequired: boolean): readonly KubernetesGatewayListener[] {
  const names = new Set<string>();
  return spec.list("listeners").map((fields) => {
    const listener = decodeListener(fields, portRequired);
    if (names.has(listener.name)) fields.fault(["name"], listener.name, "a name that no other listener has");
    names.add(listener.name);
    return listener;
  });
}

function decodeListener(fields: Fields, portRequired: boolean): KubernetesGatewayListener {
  const tls = fields.object("tls");
  if (fields.string("protocol") === "HTTPS" && tls.string("mode") === "Passthrough")
    tls.fault(["mode"], "Passthrough", "Terminate with protocol HTTPS; write protocol TLS to pass connections through");
  const allowedRoutes = fields.object("allowedRoutes");
  warnOfIgnored(fields, "filters", "Istio does not apply filters of listeners; write them in routes");
  warnOfOthers(fields, ["name", "hostname", "port", "protocol", "tls", "allowedRoutes", "filters"]);
  return {
    name: requiredString(fields, "name", isSubdomain, expectedSubdomain),
    ...optionalChecked(fields, "hostname", isGatewayApiHostname, expectedHostname),
    port: portRequired ? fields.port("port") : (fields.optionalPort("port").port ?? 0),
    protocol: requiredString(fields, "protocol", isAnyText, "a protocol, such as HTTP"),
    ...(tls.present && { tls: decodeTls(tls) }),
    ...(allowedRoutes.present && { allowedRoutes: decodeAllowedRoutes(allowedRoutes) }),
  };
}

/** Options of TLS that Istio reads. */
const tlsOptions = [
  "gateway.istio.io/tls-terminate-mode",
  "gateway.istio.io/tls-cipher-suites",
  "gateway.istio.io/listener-protocol",
];

function decodeTls(tls: Fields): ListenerTls {
  warnOfOthers(tls, ["mode", "certificateRefs", "options"]);
  const options = tls.stringMap("options");
  for (const name of Object.keys(options))
    if (!tlsOptions.includes(name))
      tls.warn(
        ["options", name],
        `is unknown and has no effect; Istio reads ${tlsOptions.join(", ")}`,
        "unsupported-field",
      );
  return {
    ...optionalEnum(tls, "mode", ["Terminate", "Passthrough"]),
    certificateRefs: tls.list("certificateRefs").map((ref) => decodeReference(ref)),
    options,
  };
}

function decodeAllowedRoutes(routes: Fields): AllowedRoutes {
  warnOfOthers(routes, ["namespaces", "kinds"]);
  const namespaces = routes.object("namespaces");
  return {
    ...(namespaces.present && { namespaces: decodeNamespaceSelection(namespaces) }),
    kinds: routes.list("kinds").map((kind) => decodeGroupKind(kind, "gateway.networking.k8s.io")),
  };
}
