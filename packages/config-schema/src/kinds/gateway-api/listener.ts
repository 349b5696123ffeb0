import type { Fields } from "../../decoding/fields.js";
import { expectedSubdomain } from "../../validation/kubernetes/fields.js";
import { isSubdomain } from "../../validation/kubernetes/names.js";
import type { SelectedFields } from "../selected-fields.js";
import {
  expectedHostname,
  isAnyText,
  isGatewayApiHostname,
  optionalChecked,
  requiredString,
} from "./checked-fields.js";
import { decodeNamespaceSelection, type NamespaceSelection, namespaceSelectionFields } from "./namespace-selection.js";
import {
  decodeGroupKind,
  decodeReference,
  type GroupKind,
  type ObjectReference,
  referenceFields,
} from "./references.js";

/** TLS settings of a listener. */
export interface ListenerTls {
  /** For example `Terminate` or `Passthrough`. Absent: `Terminate`. */
  readonly mode?: string;
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

export const listenerFields: SelectedFields = {
  name: true,
  hostname: true,
  port: true,
  protocol: true,
  tls: { mode: true, certificateRefs: referenceFields, options: true },
  allowedRoutes: { namespaces: namespaceSelectionFields, kinds: { group: true, kind: true } },
};

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
  const allowedRoutes = fields.object("allowedRoutes");
  return {
    name: requiredString(fields, "name", isSubdomain, expectedSubdomain),
    ...optionalChecked(fields, "hostname", isGatewayApiHostname, expectedHostname),
    port: portRequired ? fields.port("port") : (fields.optionalPort("port").port ?? 0),
    protocol: requiredString(fields, "protocol", isAnyText, "a protocol, such as HTTP"),
    ...(tls.present && { tls: decodeTls(tls) }),
    ...(allowedRoutes.present && { allowedRoutes: decodeAllowedRoutes(allowedRoutes) }),
  };
}

function decodeTls(tls: Fields): ListenerTls {
  return {
    ...tls.optionalString("mode"),
    certificateRefs: tls.list("certificateRefs").map(decodeReference),
    options: tls.stringMap("options"),
  };
}

function decodeAllowedRoutes(routes: Fields): AllowedRoutes {
  const namespaces = routes.object("namespaces");
  return {
    ...(namespaces.present && { namespaces: decodeNamespaceSelection(namespaces) }),
    kinds: routes.list("kinds").map((kind) => decodeGroupKind(kind, "gateway.networking.k8s.io")),
  };
}
