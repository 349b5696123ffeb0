import { configCluster, configMaps, type KubernetesGatewayObject, listenerSetsByGateway } from "@istiod/config-schema";
import { query, type QueryContext } from "@istiod/incremental";
import { isIP } from "node:net";
import type { ServedClass } from "../classes/gateway-classes.js";
import { builtListeners, isUnserved, servedGateway, type ServedGateway } from "../gateways/gateway-listeners.js";
import { clientCertificateCheck } from "../listeners/credentials.js";
import { assignedAddresses, type AssignedAddresses } from "./assigned-addresses.js";
import { condition, sortedConditions, type StatusCondition, type StatusFault, withNotes } from "./conditions.js";
import { type ListenerStatus, listenerStatuses } from "./listener-status.js";
import { programmedCondition } from "./programmed-condition.js";

/** An address at which a Gateway can be reached. */
export interface StatusAddress {
  readonly type: string;
  readonly value: string;
}

/** The status of a Gateway, without times and generations. */
export interface GatewayStatus {
  /** Empty if there are none yet. Those of an earlier status stay then. */
  readonly addresses: readonly StatusAddress[];
  readonly conditions: readonly StatusCondition[];
  readonly listeners: readonly ListenerStatus[];
  /** The number of ListenerSets that have a valid listener. */
  readonly attachedListenerSets: number;
}

/** The status of a Gateway (`namespace/name`); undefined if istiod does not serve it. Source: `reportGatewayStatus`. */
export const gatewayStatus = query("gatewayApiGatewayStatus", (q, key: string): GatewayStatus | undefined => {
  const served = q.call(servedGateway, key);
  if (served === undefined) return undefined;
  if (served.servedClass.role === "remote") return remoteStatus(served);
  const { namespace, name } = served.gateway;
  const valid = validListeners(q, served);
  const hostnames = served.services.hostnames;
  const addresses = q.call(assignedAddresses, { namespace, hostnames, ports: valid.ports });
  return {
    addresses: reportedAddresses(served, addresses),
    conditions: sortedConditions([
      acceptedCondition(q, served, valid.own),
      programmedCondition(hostnames, addresses),
      resolvedRefsCondition(q, served.gateway),
      ...insecureConditions(served.gateway),
    ]),
    listeners: listenerStatuses(q, { kind: "Gateway", namespace, name }),
    attachedListenerSets: valid.listenerSets,
  };
});

/** Returns the status of a Gateway of another cluster, which has the addresses that its spec names. */
function remoteStatus({ gateway }: ServedGateway): GatewayStatus {
  return {
    addresses: gateway.spec.addresses.map(({ type = "IPAddress", value }) => ({ type, value })),
    conditions: [
      condition("Accepted", { reason: "Accepted", message: "Resource accepted" }),
      condition("Programmed", {
        reason: "Programmed",
        message: "This Gateway is remote; Istio will not program it",
      }),
    ],
    listeners: [],
    attachedListenerSets: 0,
  };
}

interface ValidListeners {
  /** The number of the Gateway's own valid listeners. */
  readonly own: number;
  /** Ports of the Gateway's servers and of the valid listeners of ListenerSets. */
  readonly ports: readonly number[];
  readonly listenerSets: number;
}

function validListeners(q: QueryContext, { gateway: { namespace, name } }: ServedGateway): ValidListeners {
  const own = q.call(builtListeners, { kind: "Gateway", namespace, name }) ?? [];
  const ofSets = q
    .read(listenerSetsByGateway, `${namespace}/${name}`)
    .map((set) => q.call(builtListeners, { kind: "ListenerSet", namespace: set.namespace, name: set.name }) ?? [])
    .map((listeners) => listeners.filter(({ isValid, server }) => isValid && server !== undefined))
    .filter((listeners) => listeners.length > 0);
  const servers = [...own, ...ofSets.flat()].flatMap(({ server }) => server ?? []);
  return {
    own: own.filter(({ isValid }) => isValid).length,
    ports: [...new Set(servers.map(({ port }) => port?.number ?? 0))],
    listenerSets: ofSets.length,
  };
}

function acceptedCondition(q: QueryContext, served: ServedGateway, valid: number): StatusCondition {
  const { gateway, services } = served;
  const holds = { reason: "Accepted", message: "Resource accepted" };
  const fault = services.fault ?? (isUnserved(served) ? undefined : parametersFault(q, gateway));
  if (fault !== undefined) return condition("Accepted", holds, fault);
  if (valid === gateway.spec.listeners.length) return condition("Accepted", holds);
  const reason = "ListenersNotValid";
  return valid === 0
    ? condition("Accepted", holds, { reason, message: "None of the Gateway's listeners are valid" })
    : condition("Accepted", { reason, message: "One or more of the Gateway's listeners are invalid" });
}

/** Returns the fault of the reference to parameters of a Gateway's workloads, which must be a ConfigMap. */
function parametersFault(q: QueryContext, { namespace, spec }: KubernetesGatewayObject): StatusFault | undefined {
  const ref = spec.infrastructure?.parametersRef;
  if (ref === undefined) return undefined;
  const reason = "InvalidParameters";
  if (ref.group !== "" || ref.kind !== "ConfigMap")
    return {
      reason,
      message: `Unsupported parametersRef group/kind ${ref.group}/${ref.kind}, only ConfigMap is supported`,
    };
  return q.read(configMaps, `${configCluster(q)}/${namespace}/${ref.name}`) === undefined
    ? { reason, message: `parametersRef ConfigMap ${namespace}/${ref.name} does not exist` }
    : undefined;
}

function resolvedRefsCondition(q: QueryContext, { namespace, spec }: KubernetesGatewayObject): StatusCondition {
  const ref = spec.tls?.backend?.clientCertificateRef;
  const { fault, note } = ref === undefined ? {} : clientCertificateCheck(q, ref, { kind: "Gateway", namespace });
  const holds = { reason: "ResolvedRefs", message: "All references resolved" };
  return withNotes(condition("ResolvedRefs", holds, fault), note === undefined ? [] : [note]);
}

/** Returns the condition that a Gateway lets clients in whose certificates are not valid. */
function insecureConditions({ spec }: KubernetesGatewayObject): readonly StatusCondition[] {
  const { frontend } = spec.tls ?? {};
  const validations = [frontend?.default, ...(frontend?.perPort ?? [])].map((tls) => tls?.validation);
  return validations.some((validation) => validation?.mode === "AllowInsecureFallback")
    ? [
        condition("InsecureFrontendValidationMode", {
          reason: "ConfigurationChanged",
          message: "Gateway is operating in AllowInsecureFallback mode for frontend validation",
        }),
      ]
    : [];
}

const addressTypeAnnotation = "networking.istio.io/address-type";

/** Returns the external addresses, or while there are none, those in the mesh of the types that the class reports. */
function reportedAddresses(
  { gateway, servedClass }: ServedGateway,
  { external, internal, internalIps, pending }: AssignedAddresses,
): readonly StatusAddress[] {
  const type: ServedClass["addressType"] | string =
    gateway.annotations[addressTypeAnnotation] ?? servedClass.addressType;
  const ips = type === "Hostname" ? [] : internalIps;
  const hostnames = type === "IPAddress" ? [] : internal.map((at) => at.slice(0, at.lastIndexOf(":")));
  const reported =
    external.length > 0 ? external : [...ips, ...hostnames.filter((hostname) => !pending.includes(hostname))];
  return [...new Set(reported)].map((value) => ({ type: isIP(value) === 0 ? "Hostname" : "IPAddress", value }));
}
