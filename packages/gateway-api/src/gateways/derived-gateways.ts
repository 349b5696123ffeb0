import { create } from "@bufbuild/protobuf";
import { type GatewayObject, kubernetesGateways, listenerSets, listenerSetsByGateway } from "@istiod/config-schema";
import { query, type QueryContext } from "@istiod/incremental";
import { GatewaySchema } from "@istiod/istio-api/networking/v1alpha3/gateway";
import type { AttachableListener, ListenerParent } from "../listeners/attachable-listener.js";
import { clientCertificateCredential } from "../listeners/credentials.js";
import type { BuiltListener } from "../listeners/listener.js";
import { builtListeners, gatewayOfListenerSet, servedGateway, type ServedGateway } from "./gateway-listeners.js";
import { gatewayServiceAccount } from "./gateway-services.js";
import { gatewayApiSuffix } from "../names.js";

/**
 * The Istio Gateways that stand for listeners of the Gateway API, by `namespace/name`: one with a single server for
 * each listener, in the namespace of its Gateway or ListenerSet. Names contain `~`, which no name of an object can.
 * Source: pilot/pkg/config/kube/gateway/gateway_collection.go.
 */
export const gatewayApiGateways = query("gatewayApiGateways", (q): Readonly<Record<string, GatewayObject>> => {
  const found: Record<string, GatewayObject> = {};
  for (const key of q.keys(kubernetesGateways))
    for (const owner of listenerOwners(q, key))
      for (const gateway of q.call(derivedGateways, owner)) found[`${gateway.namespace}/${gateway.name}`] = gateway;
  return found;
});

/** Returns a Gateway (`namespace/name`) and the ListenerSets that extend it. */
function listenerOwners(q: QueryContext, key: string): readonly ListenerParent[] {
  return [
    ownerOf("Gateway", key),
    ...q.read(listenerSetsByGateway, key).map((set) => ownerOf("ListenerSet", `${set.namespace}/${set.name}`)),
  ];
}

function ownerOf(kind: ListenerParent["kind"], key: string): ListenerParent {
  const [namespace = "", name = ""] = key.split("/");
  return { kind, namespace, name };
}

/** Annotation of Istio Gateways that stand for listeners: the certificate that their proxies present to backends. */
export const clientCertificateAnnotation = "internal.istio.io/backend-client-certificate";

/** Port of the tunnels of east-west gateways, to which no routes attach. */
const tunnelPort = 15_008;

/**
 * The listeners of a Gateway or ListenerSet in the order of its spec, without those that conflict with others or cannot
 * be served; undefined if there is no such object of a class that istiod serves.
 */
export const attachableListeners = query(
  "gatewayApiListeners",
  (q, parent: ListenerParent): readonly AttachableListener[] | undefined => {
    const { namespace } = parent;
    const built = q.call(builtListeners, parent);
    const role = servedGatewayOf(q, parent)?.servedClass.role;
    return built
      ?.filter((listener) => isAttachable(listener, parent, role))
      .map(({ listener, server, allowedKinds }) => ({
        gateway: `${namespace}/${derivedName(q, parent, listener.name)}`,
        sectionName: listener.name,
        port: listener.port,
        protocol: listener.protocol,
        hostname: listener.hostname ?? "",
        hosts: server?.hosts ?? [],
        allowedKinds,
      }));
  },
);

/** Reports whether routes attach to a listener. To one of a Gateway that is not valid they do, but not to others. */
function isAttachable(
  { listener, server, isValid }: BuiltListener,
  { kind }: ListenerParent,
  role: ServedGateway["servedClass"]["role"] | undefined,
): boolean {
  if (server === undefined || (kind === "ListenerSet" && !isValid)) return false;
  return role === "gateway" || (role === "east-west" && listener.port !== tunnelPort);
}

/**
 * Returns the name of the Istio Gateway of a listener. A ListenerSet may have the name of a Gateway of its namespace,
 * and their listeners the same names; those of the ListenerSet have a suffix then.
 */
function derivedName(q: QueryContext, { kind, namespace, name }: ListenerParent, listener: string): string {
  const plain = `${name}~${gatewayApiSuffix}~${listener}`;
  const isTaken = kind === "ListenerSet" && q.read(kubernetesGateways, `${namespace}/${name}`) !== undefined;
  return isTaken ? `${plain}~listenerset` : plain;
}

function servedGatewayOf(q: QueryContext, { kind, namespace, name }: ListenerParent): ServedGateway | undefined {
  const key = `${namespace}/${name}`;
  const gateway = kind === "Gateway" ? key : q.call(gatewayOfListenerSet, key);
  return gateway === undefined ? undefined : q.call(servedGateway, gateway);
}

/** The Istio Gateways of the valid listeners of a Gateway or ListenerSet. */
const derivedGateways = query("gatewayApiDerivedGateways", (q, owner: ListenerParent): readonly GatewayObject[] => {
  const { kind, namespace, name } = owner;
  const served = servedGatewayOf(q, owner);
  const object = kind === "Gateway" ? served?.gateway : q.read(listenerSets, `${namespace}/${name}`);
  if (served === undefined || object === undefined) return [];
  const { gateway, servedClass, services } = served;
  const clientCertificate = clientCertificateCredential(q, gateway.spec.tls?.backend?.clientCertificateRef, {
    kind: "Gateway",
    namespace: gateway.namespace,
  });
  return (q.call(builtListeners, owner) ?? [])
    .filter((listener) => listener.isValid && isAttachable(listener, owner, servedClass.role))
    .flatMap(({ listener, server }): readonly GatewayObject[] =>
      server === undefined
        ? []
        : [
            {
              kind: "Gateway",
              namespace,
              name: derivedName(q, owner, listener.name),
              labels: {},
              annotations: {
                "internal.istio.io/parents": `${kind}/${name}/${listener.name}.${namespace}`,
                "internal.istio.io/gateway-semantics": "gateway",
                "internal.istio.io/gateway-service": services.hostnames.join(","),
                "internal.istio.io/service-account-name": gatewayServiceAccount(q, gateway, servedClass),
                ...(kind === "ListenerSet" && { "internal.istio.io/parent-namespace": gateway.namespace }),
                ...(clientCertificate !== undefined && { [clientCertificateAnnotation]: clientCertificate }),
              },
              creationTimestamp: object.creationTimestamp,
              cluster: object.cluster,
              spec: create(GatewaySchema, { servers: [server] }),
            },
          ],
    );
});
