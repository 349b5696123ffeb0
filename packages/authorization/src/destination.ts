import { pods } from "@istiod/config-schema";
import { type Database, query } from "@istiod/incremental";
import { type Proxy, podProxies, podProxy, serviceTargets, workloadOfPod } from "@istiod/push-context";
import { type Protocol, service, type ServiceTarget } from "@istiod/service-discovery";
import { AuthorizationQuestionError } from "./question.js";
import { podsNamed } from "./pods-named.js";

/** A workload's port that a caller connects to. */
export interface Destination {
  readonly proxy: Proxy;
  /** `name.namespace` of the workload. */
  readonly workload: string;
  readonly address: string;
  /** The workload's port. */
  readonly port: number;
  readonly protocol: Protocol;
  /** The service and its port, if the port belongs to one. */
  readonly service?: { readonly hostname: string; readonly port: number };
}

interface Target extends ServiceTarget {
  readonly hostname: string;
  readonly protocol: Protocol;
}

/** The services that the client implements. */
const targets = query("authorizationTargets", (q): readonly Target[] =>
  q.ask(serviceTargets).flatMap((target) => {
    const found = q.call(service, target.service);
    const port = found?.ports.find(({ number }) => number === target.port.number);
    return found === undefined || port === undefined
      ? []
      : [{ ...target, hostname: found.hostname, protocol: port.protocol }];
  }),
);

/**
 * Finds the workloads behind `name.namespace:port` of a Pod, workload or service, one Pod for each workload.
 *
 * @throws AuthorizationQuestionError if there is none, or if the port is missing and not the only one.
 */
export function findDestinations(database: Database<Proxy>, to: string): readonly Destination[] {
  const found = /^(?<name>.+?)(:(?<port>\d+))?$/.exec(to);
  const name = found?.groups?.["name"] ?? "";
  const port = found?.groups?.["port"] === undefined ? undefined : Number(found.groups["port"]);
  const named = podsNamed(database, name);
  const proxies = named.flatMap((pod) => podProxy(database, pod) ?? []);
  if (proxies.some(({ type }) => type === "waypoint"))
    throw new AuthorizationQuestionError(
      "to",
      `${name} is a waypoint: waypoints are not served by this istiod, so no policy has an effect there`,
    );
  const all =
    named.length > 0
      ? proxies.map((proxy) => workloadPort(database, proxy, port, to))
      : servicePorts(database, name, port);
  if (all.length > 0) return [...new Map(all.map((each) => [`${each.workload}:${each.port}`, each])).values()];
  throw new AuthorizationQuestionError(
    "to",
    named.length > 0
      ? `${name} has no proxy, so no policy of the mesh applies to it`
      : `there is no Pod, workload or service with proxies ${JSON.stringify(to)}: expected name.namespace:port`,
  );
}

/** Returns a port of a workload, by the workload's own number or the number of a service that selects it. */
function workloadPort(database: Database<Proxy>, proxy: Proxy, port: number | undefined, to: string): Destination {
  const own = targetsOf(database, proxy);
  const ports = [...new Set(own.map(({ targetPort }) => targetPort))];
  const chosen = port ?? (ports.length === 1 ? ports[0] : undefined);
  if (chosen === undefined)
    throw new AuthorizationQuestionError("to", `${to} has the ports ${ports.join(", ") || "of no service"}: name one`);
  const target = own.find(({ targetPort }) => targetPort === chosen);
  return destination(database, proxy, chosen, target);
}

function servicePorts(database: Database<Proxy>, name: string, port: number | undefined): readonly Destination[] {
  return podProxies(database).flatMap((proxy) => {
    if (proxy.type === "waypoint") return [];
    const own = targetsOf(database, proxy).filter(
      ({ hostname }) => hostname === name || hostname.startsWith(`${name}.svc.`),
    );
    const ports = [...new Set(own.map((target) => target.port.number))];
    if (ports.length === 0) return [];
    const chosen = port ?? (ports.length === 1 ? ports[0] : undefined);
    if (chosen === undefined || !ports.includes(chosen))
      throw new AuthorizationQuestionError("to", `service ${name} has the ports ${ports.join(", ")}: name one of them`);
    return own
      .filter((target) => target.port.number === chosen)
      .map((target) => destination(database, proxy, target.targetPort, target));
  });
}

function destination(database: Database<Proxy>, proxy: Proxy, port: number, target: Target | undefined): Destination {
  const pod = database.all(pods).find((each) => `${each.name}.${each.namespace}` === proxy.id);
  const name = pod === undefined ? undefined : workloadOfPod(database, pod)?.workloadName;
  return {
    proxy,
    workload: name === undefined ? proxy.id : `${name}.${proxy.namespace}`,
    address: proxy.ipAddresses[0] ?? "",
    port,
    protocol: target?.protocol ?? "UnsupportedProtocol",
    ...(target && { service: { hostname: target.hostname, port: target.port.number } }),
  };
}

function targetsOf(database: Database<Proxy>, proxy: Proxy): readonly Target[] {
  const view = database.view(proxy);
  try {
    return view.call(targets);
  } finally {
    view.release();
  }
}
