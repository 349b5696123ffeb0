import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { VirtualHostSchema } from "@istiod/envoy-api/envoy/config/route/v3/route_components";
import { query, type QueryContext } from "@istiod/incremental";
import { encodeMessageField, encodeStringField, messageFieldParts } from "@istiod/protobuf-wire";
import { meshGateway, proxyConfig } from "@istiod/push-context";
import { type ResourcePart, resourcePart } from "@istiod/resources";
import { keyOfId, service, splitKey } from "@istiod/service-discovery";
import { outboundClusterName } from "../resource-names.js";
import { hostPort } from "./domains.js";
import { defaultOutboundRoute } from "./route/default-route.js";
import { type DestinationTraits, serviceHash } from "./route/destinations.js";
import { hashPolicy } from "./route/hash-policy.js";
import { sessionConfig, sessionKeyOf, statefulSessionFilter } from "./route/stateful-session.js";
import { type EncodedRoutes, virtualServiceRoutes } from "./route/virtual-service-routes.js";

/** Everything that determines a virtual host of a sidecar; equal requests share its bytes. */
export interface VirtualHostRequest {
  readonly name: string;
  readonly domains: readonly string[];
  readonly hostname: string;
  readonly port: number;
  /** The port for which routes of VirtualServices are built; 0 if ports are not distinguished. */
  readonly listenerPort: number;
  /** The service's id. */
  readonly service?: string;
  readonly virtualService?: string;
  readonly destinations?: readonly DestinationTraits[];
}

/** The field of RouteConfiguration for virtual hosts. */
const virtualHostsField = 2;

/** A virtual host, encoded as an element of a route configuration's virtual hosts. */
export const virtualHost = query(
  "virtualHost",
  (q, request: VirtualHostRequest): Uint8Array => {
    const routes =
      request.virtualService === undefined
        ? [encodeMessageField(VirtualHostSchema.field.routes.number, [serviceRoute(q, request)])]
        : q
            .call(virtualServiceRoutes, {
              virtualService: request.virtualService,
              port: request.listenerPort,
              gateway: meshGateway,
              ...(request.destinations === undefined ? {} : { destinations: request.destinations }),
            })
            .map((route) => route.bytes);
    const found = request.service === undefined ? undefined : q.call(service, request.service);
    const session = found && sessionKeyOf(q, found);
    const { name, domains } = VirtualHostSchema.field;
    return encodeMessageField(virtualHostsField, [
      encodeStringField(name.number, request.name),
      ...request.domains.map((domain) => encodeStringField(domains.number, domain)),
      ...routes,
      q.call(commonSettings),
      ...(session === undefined
        ? []
        : [encodeSettings({ typedPerFilterConfig: { [statefulSessionFilter]: sessionConfig(session) } })]),
    ]);
  },
  { key: virtualHostKey },
);

/** Returns a key that only equal requests have. Cached, since a chunk and the call for each of its hosts use it. */
export function virtualHostKey(request: VirtualHostRequest): string {
  let key = keys.get(request);
  if (key === undefined) keys.set(request, (key = JSON.stringify(request)));
  return key;
}

const keys = new WeakMap<VirtualHostRequest, string>();

/** The settings shared by all virtual hosts of a sidecar, encoded. */
const commonSettings = query("virtualHostSettings", (q): Uint8Array =>
  encodeSettings({ includeRequestAttemptCount: includesAttemptCount(q) }),
);

function encodeSettings(settings: MessageInitShape<typeof VirtualHostSchema>): Uint8Array {
  return toBinary(VirtualHostSchema, create(VirtualHostSchema, settings));
}

/** Encodes a virtual host with encoded routes. */
export function encodeVirtualHost(
  head: MessageInitShape<typeof VirtualHostSchema>,
  routes: readonly Uint8Array[] = [],
): Uint8Array {
  return encodeMessageField(virtualHostsField, [encodeSettings(head), ...routes]);
}

/**
 * Encodes a virtual host with some of many encoded routes, of which each part is one of the configuration, so that a
 * change of one route does not copy and hash the others.
 */
export function virtualHostParts(
  head: MessageInitShape<typeof VirtualHostSchema>,
  routes: readonly EncodedRoutes[],
): readonly ResourcePart[] {
  const [field = new Uint8Array(), settings = new Uint8Array()] = messageFieldParts(virtualHostsField, [
    encodeSettings(head),
    ...routes.map(({ bytes }) => bytes),
  ]);
  return [
    resourcePart([field, settings]),
    ...routes.map(({ bytes, part }): ResourcePart => part ?? { ...resourcePart(bytes), continues: true }),
  ];
}

/** Reports whether requests carry the attempt count. */
export function includesAttemptCount(q: QueryContext): boolean {
  return proxyConfig(q, "proxyHeaders")?.attemptCount?.disabled !== true;
}

/** Returns the encoded route of a service's port without a VirtualService. */
function serviceRoute(q: QueryContext, { hostname, port, service: id = "" }: VirtualHostRequest): Uint8Array {
  const hash = serviceHash(q, hostname, splitKey(keyOfId(id))[0], port);
  return defaultOutboundRoute(
    q,
    outboundClusterName(hostname, port),
    `${hostPort(hostname, port)}/*`,
    hash && hashPolicy(hash),
  );
}
