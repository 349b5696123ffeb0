import { AnswerQueue, HttpServer, type Route, shareConcurrent, type Site } from "@istiod/admin-server";
import { isLoopback } from "@istiod/peer-address";
import { certificateCalls, observeQueue } from "@istiod/ca";
import type { Listening } from "@istiod/xds-server";
import { debugRoutes, expiredCertificates, statusRoute } from "@istiod/introspection";
import type { ListenAddress } from "../listen-address.js";
import { listening, listenOptions } from "../listening.js";
import { secureContext } from "../serving-tls.js";
import { variables } from "../variables.js";
import { debugAccess, type Introspection, startingStatus } from "./introspection.js";
import type { Mesh } from "./mesh.js";
import type { SecureServing, Security } from "./security.js";
import type { Serving } from "./serving.js";
import type { Startup } from "./startup.js";
import { type WebhookRoutes, withWebhooks } from "./webhooks.js";

/** The address that a server listens on. */
export interface BoundAddress {
  readonly host: string;
  readonly port: number;
}

/** Opens the HTTP port, and answers probes on it from now on. Returns undefined if the port is off. */
export async function openHttp(startup: Startup): Promise<HttpServer | undefined> {
  const { httpAddr } = startup.settings.addresses;
  if (httpAddr === undefined) return undefined;
  // These need no guard: the answers tell nothing of the mesh.
  return listenHttp(startup, "httpAddr", httpAddr, { routes: new Map(probes), guard: () => undefined });
}

/** Adds the status page to an HTTP port, while the first state of the mesh is awaited. */
export function serveStartup(startup: Startup, mesh: Mesh, http: HttpServer | undefined): void {
  const access = debugAccess(startup, mesh, { authenticators: [], trustDomain: "" });
  const page = statusRoute({ ...startingStatus(startup, mesh), queue: new AnswerQueue(), monitoring: () => undefined });
  http?.serve({
    routes: new Map([...probes, ...(variables.debugOnHttp.read(startup.env) ? [["/", page] as const] : [])]),
    guard: (request, path) => access.guard(request, path),
  });
}

/** Answers before the first state is ready. */
const starting: Route = (_, response) => void response.writeHead(503).end();

const live: Route = (_, response) => void response.writeHead(200, { "content-type": "text/plain" }).end("ok\n");

const probes: readonly (readonly [string, Route])[] = [
  ["/ready", starting],
  ["/healthz/ready", starting],
  ["/healthz/live", live],
];

/** Opens all other ports, then answers everything on the HTTP port. Returns the addresses by the name of the flag. */
export async function openListeners(
  startup: Startup,
  parts: ListenerParts,
): Promise<Readonly<Record<string, BoundAddress>>> {
  const { env, settings, closers } = startup;
  const { security, serving, introspection, webhooks, http } = parts;
  const { grpcAddr, secureGRPCAddr, monitoringAddr } = settings.addresses;
  const { access, commands, status } = introspection;
  const plaintext = grpcAddr && (await listenPlaintext(startup, serving, grpcAddr));
  const secure =
    secureGRPCAddr && security.secure && (await listenTls(startup, security, security.secure, serving, secureGRPCAddr));
  const guard: Site["guard"] = (request, path) => access.guard(request, path);
  const isDebugServed = variables.debugOnHttp.read(env);
  const queue = new AnswerQueue();
  const debug = isDebugServed ? [...debugRoutes(commands, queue, (request) => access.namespaceOf(request))] : [];
  const metrics = monitoringRoutes(startup);
  const monitoring =
    monitoringAddr &&
    (await listenHttp(startup, "monitoringAddr", monitoringAddr, { routes: new Map([...metrics, ...debug]), guard }));
  const page = statusRoute({ ...status, queue, monitoring: () => monitoring?.address });
  const ready = readyRoute(security, introspection);
  // The webhooks answer before istiod is ready.
  const https = await listenWebhooks(startup, parts, ready);
  const site: Site = {
    routes: new Map<string, Route>([
      ["/ready", ready],
      ["/healthz/ready", ready],
      ["/healthz/live", live],
      ...(isDebugServed ? [["/", page] satisfies [string, Route]] : []),
      ...debug,
      ...(monitoring === undefined ? metrics : []),
    ]),
    guard,
  };
  http?.serve(settings.addresses.httpsAddr === undefined ? withWebhooks(site, webhooks) : site);
  // Closed before the streams are drained, so that readiness probes fail meanwhile.
  if (http !== undefined) closers.defer(() => http.close());
  return {
    ...(plaintext && { grpcAddr: plaintext }),
    ...(secure && { secureGRPCAddr: secure }),
    ...(http && { httpAddr: http.address }),
    ...(https && { httpsAddr: https.address }),
    ...(monitoring && { monitoringAddr: monitoring.address }),
  };
}

/**
 * Answers 503 if a certificate has expired that clients or leaves depend on. The query `verbose` lists the components,
 * as the API server's `/readyz` does.
 */
function readyRoute({ authority, secure }: Security, { readiness, components }: Introspection): Route {
  return ({ url }, response) => {
    const expired = expiredCertificates(authority?.authority, secure?.current(), Date.now());
    const isReady = expired.length === 0;
    const summary = isReady ? readiness() : `${expired.join("\n")}\n`;
    const verbose = url.searchParams.has("verbose")
      ? [
          ...expired.map((text) => `[-]certificates: ${text}\n`),
          isReady ? "[+]certificates: ok\n" : "",
          ...components(),
        ]
      : [];
    response
      .writeHead(isReady ? 200 : 503, { "content-type": "text/plain" })
      .end(verbose.length > 0 ? verbose.join("") : summary);
  };
}

/** The earlier phases that listeners serve. */
export interface ListenerParts {
  readonly security: Security;
  readonly serving: Serving;
  readonly introspection: Introspection;
  readonly webhooks: WebhookRoutes;
  readonly http: HttpServer | undefined;
}

function listenPlaintext({ values, settings }: Startup, { server }: Serving, at: ListenAddress): Promise<Listening> {
  return listening("grpcAddr", values.grpcAddr, server.listen({ ...listenOptions(at), ...settings.connections }));
}

/** More than the 60 s that a signer has, so that its failure is answered. */
const externalLimits = { concurrency: 64, signingTimeoutMs: 65_000 };

async function listenTls(
  { values, settings, meter }: Startup,
  { trustDomain, certificateAuthenticators, authorizeImpersonation, external }: Security,
  secure: SecureServing,
  { server }: Serving,
  at: ListenAddress,
): Promise<Listening> {
  const { authority, events, limits } = secure;
  const certificates =
    authority &&
    certificateCalls({
      authority,
      trustDomain,
      authenticators: certificateAuthenticators,
      ...(authorizeImpersonation && { authorizeImpersonation }),
      events,
      maxQueued: values.caMaxQueuedRequests,
      // Signers work elsewhere, and take their time.
      ...(external !== undefined && externalLimits),
    });
  if (certificates !== undefined) observeQueue(meter, certificates);
  const listener = await listening(
    "secureGRPCAddr",
    values.secureGRPCAddr,
    server.listen({
      ...listenOptions(at),
      ...settings.connections,
      tls: { ...secure.current(), ...limits },
      ...(certificates && { calls: certificates.handlers }),
    }),
  );
  const renew = (): void => listener.renew({ ...secure.current(), ...limits });
  secure.onChange(renew);
  renew();
  return listener;
}

/** Longer than the 90 s of API servers, so that they close idle connections, and none that they just use is closed. */
const webhookIdleMs = 120_000;

/** Serves the webhooks over TLS, with `/ready` for probes from elsewhere. */
async function listenWebhooks(
  { values, settings, closers }: Startup,
  { security: { secure }, serving, webhooks }: ListenerParts,
  ready: Route,
): Promise<HttpServer | undefined> {
  const { httpsAddr } = settings.addresses;
  if (httpsAddr === undefined || secure === undefined || webhooks.size === 0) return undefined;
  const site = withWebhooks({ routes: new Map([["/ready", ready]]), guard: () => undefined }, webhooks);
  const context = () => secureContext(secure.current(), secure.limits);
  const limits = { idleMs: webhookIdleMs };
  const server = await listening("httpsAddr", values.httpsAddr, HttpServer.listen(httpsAddr, site, context(), limits));
  closers.defer(async () => {
    // API servers learn late that a Pod is being deleted, so the webhooks answer until the streams are closed.
    server.drain();
    await serving.server.close({ graceMs: settings.shutdownMs });
    await server.close({ graceMs: settings.shutdownMs });
  });
  secure.onChange(() => server.renew(context()));
  server.renew(context());
  return server;
}

async function listenHttp(
  { values, closers }: Startup,
  flag: "httpAddr" | "monitoringAddr",
  at: ListenAddress,
  site: Site,
): Promise<HttpServer> {
  const server = await listening(flag, values[flag], HttpServer.listen(at, site));
  closers.defer(() => server.close());
  return server;
}

function monitoringRoutes({ env, version, registry }: Startup): readonly [string, Route][] {
  const metrics = shareConcurrent(() => registry.metrics());
  return [
    [
      "/metrics",
      async ({ http: request }, response) => {
        if (variables.localMetricsOnly.read(env) && !isLoopback(request.socket.remoteAddress))
          return void response
            .writeHead(403, { "content-type": "text/plain" })
            .end("Only requests from localhost are allowed\n");
        response.writeHead(200, { "content-type": registry.contentType }).end(await metrics());
      },
    ],
    ["/version", (_, response) => void response.writeHead(200, { "content-type": "text/plain" }).end(version)],
  ];
}
