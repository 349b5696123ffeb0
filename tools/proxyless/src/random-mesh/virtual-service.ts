import type { Random } from "@istiod/bench";
import type { MeshObject, RandomService } from "./mesh-object.js";

interface RoutesOptions {
  readonly name: string;
  readonly namespace: string;
  /** The service that is routed. */
  readonly service: RandomService;
  /** The destinations. */
  readonly services: readonly RandomService[];
}

/** Returns a VirtualService with random routes. */
export function randomVirtualService(random: Random, options: RoutesOptions): MeshObject {
  const { name, namespace, service } = options;
  const routes = Array.from({ length: 1 + random.below(4) }, () => randomRoute(random, options));
  return {
    apiVersion: "networking.istio.io/v1",
    kind: "VirtualService",
    metadata: { name, namespace },
    spec: {
      hosts: [service.host],
      http: [...routes.map((route) => ({ match: randomMatches(random), ...route })), randomRoute(random, options)],
      ...(random.chance(0.3) && { exportTo: ["."] }),
    },
  };
}

function randomRoute(random: Random, options: RoutesOptions): object {
  const kind = random.below(10);
  if (kind === 0)
    return { directResponse: { status: random.pick([200, 204, 403, 404, 429, 503]), body: { string: "x" } } };
  if (kind === 1)
    return { redirect: { uri: "/x", authority: "other", redirectCode: random.pick([301, 302, 303, 307, 308]) } };
  return {
    route: randomDestinations(random, options),
    ...(random.chance(0.4) && { timeout: random.pick(["0.001s", "1s", "2.5s", "3600s"]) }),
    ...(random.chance(0.4) && { retries: randomRetries(random) }),
    ...(random.chance(0.3) && { fault: randomFault(random) }),
    ...(random.chance(0.15) && { rewrite: random.pick<object>([{ uri: "/y" }, { authority: "z" }]) }),
    ...(random.chance(0.1) && { mirror: { host: options.service.host }, mirrorPercentage: { value: 10 } }),
    ...(random.chance(0.15) && { headers: { request: { set: { a: "b" } }, response: { remove: ["c"] } } }),
    ...(random.chance(0.1) && { corsPolicy: { allowOrigins: [{ exact: "a" }] } }),
  };
}

function randomDestinations(random: Random, { service, services }: RoutesOptions): readonly object[] {
  const count = 1 + random.below(3);
  const weights: (number | undefined)[] =
    count === 1 ? [undefined] : Array.from({ length: count }, () => random.pick<number>([0, 1, 50, 1000]));
  if (count > 1 && !weights.some((weight) => weight !== 0)) weights[0] = 1;
  return weights.map((weight) => {
    const to = random.chance(0.7) ? service : random.pick(services);
    const port = to.host.startsWith("*") ? random.pick(services).ports[0] : random.pick(to.ports);
    return {
      destination: {
        host: to.host.startsWith("*") ? (services[0]?.host ?? "") : to.host,
        ...(random.chance(0.5) && { subset: random.pick(["v1", "v2", "absent"]) }),
        ...((to.ports.length > 1 || random.chance(0.5)) && { port: { number: port } }),
      },
      ...(weight !== undefined && { weight }),
    };
  });
}

function randomMatches(random: Random): readonly object[] {
  return Array.from({ length: 1 + random.below(2) }, () => randomMatch(random));
}

function randomMatch(random: Random): object {
  const text = (): object => random.pick<object>([{ exact: "a" }, { prefix: "b" }, { regex: "c+|[d]" }]);
  const headers = (): object =>
    Object.fromEntries(
      random
        .shuffled(["user", "x-b", "x-c", "grpc-timeout", "content-type"])
        .slice(0, 1 + random.below(3))
        .map((name) => [name, random.chance(0.2) ? {} : text()]),
    );
  const uri = random.pick<object>([
    { exact: "/test.Echo/Say" },
    { prefix: "/test.Echo" },
    { prefix: "/" },
    { prefix: "/test.Echo/" },
    { regex: "/test\\.Echo/.*" },
  ]);
  const match = {
    ...(random.chance(0.6) && { uri, ...(random.chance(0.2) && { ignoreUriCase: true }) }),
    ...(random.chance(0.5) && { headers: headers() }),
    ...(random.chance(0.3) && { withoutHeaders: headers() }),
    ...(random.chance(0.1) && { queryParams: { q: text() } }),
    ...(random.chance(0.15) && {
      method: random.pick<object>([{ exact: "POST" }, { exact: "GET" }, { regex: "P.*" }]),
    }),
    ...(random.chance(0.1) && { scheme: { exact: random.pick(["http", "https"]) } }),
    ...(random.chance(0.15) && {
      authority: random.pick<object>([{ prefix: "s" }, { exact: "x:80" }, { regex: ".*" }]),
    }),
    ...(random.chance(0.1) && { port: random.pick([80, 7070]) }),
    ...(random.chance(0.1) && { sourceLabels: { app: random.pick(["client", "other"]) } }),
    ...(random.chance(0.1) && { name: "named" }),
  };
  return Object.keys(match).length === 0 ? { uri: { prefix: "/" } } : match;
}

function randomRetries(random: Random): object {
  const attempts = random.below(5);
  return attempts === 0
    ? { attempts }
    : {
        attempts,
        ...(random.chance(0.6) && {
          retryOn: random.pick(["unavailable", "5xx", "cancelled,deadline-exceeded,503", "connect-failure,reset"]),
        }),
        ...(random.chance(0.3) && { perTryTimeout: "1s" }),
        ...(random.chance(0.3) && { backoff: random.pick(["0.001s", "1s"]) }),
        ...(random.chance(0.2) && { retryRemoteLocalities: true }),
      };
}

function randomFault(random: Random): object {
  const percentage = { value: random.pick([0, 0.001, 50, 100]) };
  const abort = random.pick<object>([
    { grpcStatus: "UNAVAILABLE" },
    { httpStatus: 503 },
    { httpStatus: 200 },
    { grpcStatus: "RESOURCE_EXHAUSTED" },
  ]);
  return {
    abort: { ...abort, percentage },
    ...(random.chance(0.5) && { delay: { fixedDelay: "0.01s", percentage: { value: 100 } } }),
  };
}
