import { create } from "@bufbuild/protobuf";
import type { GatewayTls, KubernetesGatewayListener } from "@istiod/config-schema";
import type { QueryContext } from "@istiod/incremental";
import { type Server, ServerSchema } from "@istiod/istio-api/networking/v1alpha3/gateway";
import { isAutoPassthrough } from "@istiod/service-discovery";
import type { ServedClass } from "../classes/gateway-classes.js";
import {
  condition,
  sortedConditions,
  type StatusCondition,
  type StatusFault,
  withNotes,
} from "../status/conditions.js";
import { hostsOf, supportedKinds } from "./allowed-routes.js";
import type { ListenerParent, RouteKind } from "./attachable-listener.js";
import type { ListenerConflict } from "./listener-conflicts.js";
import { buildListenerTls, type BuiltTls } from "./listener-tls.js";

/** A listener as it is served, or the reasons for which it is not. */
export interface BuiltListener {
  readonly listener: KubernetesGatewayListener;
  /** Undefined if it conflicts with another listener, or has no TLS settings and needs them. */
  readonly server?: Server;
  /** Reports whether the server is served. Routes attach to listeners of a Gateway also if not. */
  readonly isValid: boolean;
  /** The kinds of routes that it accepts. */
  readonly allowedKinds: readonly RouteKind[];
  /** Conditions of its status, by their types. */
  readonly conditions: readonly StatusCondition[];
}

export interface ListenerInput {
  /** With the port that it listens on; 0 if it has none. */
  readonly listener: KubernetesGatewayListener;
  readonly owner: ListenerParent;
  /** Labels of the Gateway or ListenerSet. */
  readonly labels: Readonly<Record<string, string>>;
  readonly servedClass: ServedClass;
  /** TLS settings of the Gateway. */
  readonly ofGateway: GatewayTls | undefined;
  readonly gatewayNamespace: string;
  readonly conflict: ListenerConflict | undefined;
}

const noErrors = "No errors found";
/** The port of tunnels between proxies. */
const tunnelPort = 15_008;

/** Builds a listener. Source: `buildListener` in pilot/pkg/config/kube/gateway/conversion.go. */
export function buildListener(q: QueryContext, input: ListenerInput): BuiltListener {
  const { listener, owner, conflict } = input;
  const { kinds: allowedKinds, namesOthers } = supportedKinds(listener);
  const kindsFault: StatusFault | undefined = namesOthers
    ? { reason: "InvalidRouteKinds", message: "Invalid route kinds" }
    : undefined;
  if (conflict !== undefined)
    return { listener, isValid: false, allowedKinds, conditions: conflictConditions(conflict, kindsFault) };
  const tls = tlsOf(q, input);
  const faults = listenerFaults(input, tls);
  const needsTls = tls === undefined && (listener.protocol === "HTTPS" || listener.protocol === "TLS");
  const server = create(ServerSchema, {
    port: { name: "default", number: listener.port, protocol: faults.protocol === undefined ? listener.protocol : "" },
    hosts: [...hostsOf(q, listener, owner.namespace)],
    ...(tls && { tls: tls.settings }),
  });
  return {
    listener,
    ...(!needsTls && { server }),
    isValid: faults.serving === undefined,
    allowedKinds,
    conditions: sortedConditions([
      condition("Accepted", { reason: "Accepted", message: noErrors }, faults.accepted),
      condition("Programmed", { reason: "Programmed", message: noErrors }, faults.programmed),
      { type: "Conflicted", status: "False", reason: "NoConflicts", message: noErrors },
      withNotes(
        condition("ResolvedRefs", { reason: "ResolvedRefs", message: noErrors }, kindsFault ?? tls?.fault),
        tls?.notes ?? [],
      ),
    ]),
  };
}

function conflictConditions(
  conflict: ListenerConflict,
  kindsFault: StatusFault | undefined,
): readonly StatusCondition[] {
  const message = "Listener has a conflict with another listener attached to the same Gateway";
  const fault = { reason: conflict, message };
  return [
    condition("Accepted", fault, fault),
    condition("Conflicted", fault),
    condition("Programmed", fault, fault),
    ...(kindsFault === undefined ? [] : [condition("ResolvedRefs", kindsFault, kindsFault)]),
  ];
}

function tlsOf(
  q: QueryContext,
  { listener, owner, labels, ofGateway, gatewayNamespace }: ListenerInput,
): BuiltTls | undefined {
  const { tls, port } = listener;
  return (
    tls &&
    buildListenerTls(q, {
      tls,
      ofGateway,
      gatewayNamespace,
      port,
      user: owner,
      isAutoPassthrough: isAutoPassthrough(labels, listener),
    })
  );
}

interface ListenerFaults {
  readonly protocol?: StatusFault | undefined;
  /** Faults by condition. */
  readonly accepted: StatusFault | undefined;
  readonly programmed: StatusFault | undefined;
  /** The fault because of which the listener is not served. */
  readonly serving: StatusFault | undefined;
}

const badTls: StatusFault = { reason: "Invalid", message: "Bad TLS configuration" };
const refusedRoots = ["InvalidCACertificateRef", "InvalidCACertificateKind", "RefNotPermitted"];

function listenerFaults({ listener, owner, servedClass }: ListenerInput, tls: BuiltTls | undefined): ListenerFaults {
  const protocol = protocolFault(listener.protocol, servedClass);
  const port = listener.port === 0 ? unsupported(`protocol ${listener.protocol} requires a port to be set`) : undefined;
  const missingTls =
    owner.kind === "ListenerSet" && tls === undefined && ["HTTPS", "TLS"].includes(listener.protocol)
      ? unsupported(`protocol is ${listener.protocol} but no TLS section is defined`)
      : undefined;
  const roots: StatusFault | undefined =
    tls?.fault !== undefined && refusedRoots.includes(tls.fault.reason)
      ? { reason: "NoValidCACertificate", message: tls.fault.message }
      : undefined;
  return {
    protocol,
    accepted: missingTls ?? roleFault(listener, servedClass) ?? protocol ?? port ?? roots,
    programmed: tls?.fault !== undefined || missingTls !== undefined ? badTls : undefined,
    serving: tls?.fault ?? port ?? protocol ?? missingTls,
  };
}

function unsupported(message: string): StatusFault {
  return { reason: "UnsupportedProtocol", message };
}

const plainProtocols = ["HTTP", "HTTPS", "TLS", "TCP"];

function protocolFault(protocol: string, { role }: ServedClass): StatusFault | undefined {
  if (plainProtocols.includes(protocol)) return undefined;
  const quoted = JSON.stringify(protocol);
  if (protocol === "HBONE")
    return role === "waypoint" || role === "east-west"
      ? undefined
      : unsupported(`protocol ${quoted} is only supported for waypoint proxies`);
  const upper = protocol.toUpperCase();
  const isMeant = [...plainProtocols, "HBONE"].includes(upper);
  const hint = isMeant ? `. hint: ${JSON.stringify(upper)} (uppercase) may be supported` : "";
  return unsupported(`protocol ${quoted} is unsupported${hint}`);
}

/** Returns the fault of a listener that gateways of its class do not have. It is served all the same. */
function roleFault({ port, protocol, tls }: KubernetesGatewayListener, { role }: ServedClass): StatusFault | undefined {
  if (role === "waypoint")
    return port === tunnelPort && protocol === "HBONE"
      ? undefined
      : unsupported(`Expected a single listener on port ${tunnelPort} with protocol "HBONE"`);
  if (role !== "east-west") return undefined;
  const mode = tls && (tls.mode ?? "Terminate");
  const isExpected =
    port === tunnelPort ? protocol === "HBONE" && mode === "Terminate" : protocol === "TLS" && mode === "Passthrough";
  return isExpected
    ? undefined
    : unsupported(
        `East-west gateway listeners must be either port ${tunnelPort} with protocol "HBONE" and TLS.Mode == Terminate, or TLS with TLS.Mode == Passthrough`,
      );
}
