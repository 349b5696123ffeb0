import { create, toBinary } from "@bufbuild/protobuf";
import type { Any } from "@bufbuild/protobuf/wkt";
import { ListenerSchema } from "@istiod/envoy-api/envoy/config/listener/v3/listener";
import {
  type HttpFilter,
  HttpConnectionManagerSchema,
} from "@istiod/envoy-api/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager";
import { query, type QueryContext } from "@istiod/incremental";
import {
  clientAddress,
  clientAddresses,
  dnsDomain,
  features,
  grpcNeedsAllResources,
  grpcSupports,
  namespace,
  type ScopedService,
  scopedService,
  scopeOf,
  scopeServices,
  serviceInScope,
} from "@istiod/push-context";
import type { ResourceSet } from "@istiod/resources";
import { type Resource, resource } from "@istiod/resources";
import type { Service } from "@istiod/service-discovery";
import { resourcesOf, serviceObject } from "../attempt.js";
import { address } from "../envoy/address.js";
import { packAny } from "../envoy/any.js";
import { fault, router, statefulSession } from "../listeners/http/http-filters.js";
import { additionalAddresses } from "../listeners/listener-address.js";
import { hostPort } from "../routes/domains.js";
import { sessionKeyOf } from "../routes/route/stateful-session.js";
import { type ChannelTarget, hostsOfTarget, parseTarget, serverListenerPrefix } from "./names.js";
import { routeConfigurationName } from "./routes.js";
import { serverListener } from "./server-listener.js";

/**
 * A listener that a gRPC library requests by name: a client by the target of a channel, `host:port`, a server by the
 * address that it binds. Undefined if the client's scope has no such service. Source:
 * pilot/pkg/networking/grpcgen/lds.go.
 */
export const grpcListener = query("grpcListener", (q, name: string): Resource | undefined => {
  if (name.startsWith(serverListenerPrefix)) return serverListener(q, name);
  const target = parseTarget(name);
  if (target === undefined) return undefined;
  const found = findService(q, target.host);
  const port = found && portOf(found, target.port);
  if (found !== undefined && port !== undefined)
    return resource(name, q.call(clientListener, { name, host: target.host, service: found.scoped, port }));
  return q.ask(grpcNeedsAllResources, undefined) ? awaitingListener(q, name, target) : undefined;
});

/**
 * Returns the listener of a target without a service, whose routes are empty until there is one. A library that loses
 * absent listeners would not find the service then.
 */
function awaitingListener(q: QueryContext, name: string, { host, port }: ChannelTarget): Resource | undefined {
  const hostname = candidates(q, host).at(-1);
  if (port === undefined || hostname === undefined) return undefined;
  const routes = routeConfigurationName(hostname, port, host);
  const apiListener = { apiListener: connectionManager([fault, router], routes) };
  return resource(name, toBinary(ListenerSchema, create(ListenerSchema, { name, apiListener })));
}

/** The listeners of all services of the client's scope, for a client that names none. Libraries always name theirs. */
export const grpcListeners = query("grpcListeners", (q): ResourceSet => {
  const targets = q.call(scopeServices, scopeOf(q)).flatMap((scoped) =>
    (q.call(scopedService, scoped)?.ports ?? []).map(({ number: port }): ClientListenerRef => ({
      name: hostPort(scoped.hostname, port),
      host: scoped.hostname.toLowerCase(),
      service: scoped,
      port,
    })),
  );
  const unique = new Map(targets.map((target) => [target.name, target]));
  return resourcesOf(
    [...unique.values()],
    (target) => resource(target.name, q.call(clientListener, target)),
    ({ name, service }) => ({ name, objects: [serviceObject(service.service)] }),
  );
});

interface FoundService {
  readonly scoped: ScopedService;
  readonly service: Service;
}

function findService(q: QueryContext, host: string): FoundService | undefined {
  const scope = scopeOf(q);
  for (const hostname of candidates(q, host)) {
    const scoped = q.call(serviceInScope, { scope, hostname });
    const service = scoped && q.call(scopedService, scoped);
    if (scoped !== undefined && service !== undefined) return { scoped, service };
  }
  return undefined;
}

/**
 * Returns the hosts that a target may mean: names have no case, and one that ends with a dot is complete. The namespace
 * and the domain are asked for short names only.
 */
function candidates(q: QueryContext, spelled: string): readonly string[] {
  const isKnown = (hostname: string): boolean => q.call(serviceInScope, { scope: scopeOf(q), hostname }) !== undefined;
  if (isKnown(spelled)) return [spelled];
  const host = spelled.toLowerCase();
  if (host.endsWith(".")) return [host.slice(0, -1)];
  return host !== spelled && isKnown(host) ? [host] : hostsOfTarget(host, q.ask(namespace), q.ask(dnsDomain));
}

function portOf({ service: { ports } }: FoundService, requested: number | undefined): number | undefined {
  if (requested !== undefined) return ports.find(({ number }) => number === requested)?.number;
  return ports.length === 1 ? ports[0]?.number : undefined;
}

/** A port of a service under the name by which it is requested. */
interface ClientListenerRef {
  readonly name: string;
  /** The host of the target, as it spells it. */
  readonly host: string;
  readonly service: ScopedService;
  readonly port: number;
}

/** An API listener, encoded: the HTTP filters of a channel and the name of its routes. */
const clientListener = query(
  "grpcClientListener",
  (q, { name, host, service: scoped, port }: ClientListenerRef): Uint8Array => {
    const service = q.call(scopedService, scoped);
    if (service === undefined) throw new Error(`no service ${scoped.hostname}`);
    const [, ...others] = features.dualStack(q) ? clientAddresses(q, service) : [];
    const filters = [...sessionFilters(q, service), fault, router];
    return toBinary(
      ListenerSchema,
      create(ListenerSchema, {
        name,
        address: address(clientAddress(q, service), port),
        additionalAddresses: additionalAddresses(others, port),
        apiListener: {
          apiListener: connectionManager(filters, routeConfigurationName(service.hostname, port, host)),
        },
      }),
    );
  },
);

function connectionManager(httpFilters: HttpFilter[], routeConfigName: string): Any {
  return packAny(HttpConnectionManagerSchema, {
    httpFilters,
    routeSpecifier: {
      case: "rds",
      value: { configSource: { configSourceSpecifier: { case: "ads", value: {} } }, routeConfigName },
    },
  });
}

function sessionFilters(q: QueryContext, service: Service): readonly HttpFilter[] {
  return sessionKeyOf(q, service) !== undefined && q.ask(grpcSupports, "statefulSession") ? [statefulSession] : [];
}
