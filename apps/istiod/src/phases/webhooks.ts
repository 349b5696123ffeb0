import type { AdmissionHandler } from "@istiod/admission";
import { addedWarnings, type LiveAnalysis } from "@istiod/analysis";
import { followKind } from "@istiod/config-ingestion";
import { mutatingWebhookConfigurationKind } from "@istiod/config-schema";
import {
  caBundleErrors,
  type Controller,
  injectionWebhookController,
  injectionWebhookMetrics,
  probeValidation,
  runController,
  type Source,
  validationWebhookController,
  validationWebhookMetrics,
  warningWebhookController,
  type WriteListener,
} from "@istiod/controllers";
import { followInjector, type InjectorDocuments } from "@istiod/injector";
import type { Proxy } from "@istiod/push-context";
import type { Site, Route } from "@istiod/admin-server";
import { variables } from "../variables.js";
import { type CaBundle, caBundle } from "../webhooks/ca-bundle.js";
import { injectionRoute } from "../webhooks/injection.js";
import { injectorPlaces } from "../webhooks/injector-places.js";
import { validationHandler, warningHandler } from "../webhooks/validation.js";
import type { Mesh } from "./mesh.js";
import type { Security } from "./security.js";
import type { Startup } from "./startup.js";

/** The admission webhooks by their paths. Each also answers all paths below its own. */
export type WebhookRoutes = ReadonlyMap<string, Route>;

/** The admission webhooks, and the templates of injection. */
export interface Webhooks {
  readonly routes: WebhookRoutes;
  /** Returns the texts of the injection templates by name; undefined if injection is not configured. */
  readonly injectionTemplates: () => Readonly<Record<string, string>> | undefined;
  /** The configuration of injection, with the templates of managed gateways. */
  readonly injection: Source<InjectorDocuments>;
}

const noInjection = {
  injectionTemplates: () => undefined,
  injection: { current: () => undefined, onChange: () => () => undefined },
} as const;

/**
 * Opens the admission webhooks. Without a cluster there are none, as in Istio, also where injection is configured by
 * files. Source: pilot/pkg/bootstrap/server.go, NewServer.
 */
export async function openWebhooks(
  startup: Startup,
  { client, database }: Mesh,
  analysis: LiveAnalysis<Proxy>,
): Promise<Webhooks> {
  const { values, env, log, meter, closers } = startup;
  if (client === undefined) return { routes: new Map(), ...noInjection };
  const validationLog = log.child({ scope: "validationServer" });
  const warnings = addedWarnings({
    analysis,
    revision: variables.revision.read(env) || "default",
    onError: (err) => validationLog.warn({ err }, "analysis of an object failed, answering without its findings"),
  });
  // The revisions that labels may name.
  const injectors = { kind: mutatingWebhookConfigurationKind, plural: "mutatingwebhookconfigurations" };
  const labelSelector = "istio.io/rev";
  closers.defer(followKind(database, { client, cluster: values.clusterID, ...injectors, labelSelector }));
  const routes = new Map<string, Route>([
    ["/validate", routeOf(validationHandler(validationLog, meter, warnings))],
    ["/warn", routeOf(warningHandler(validationLog, warnings))],
  ]);
  if (!variables.injectionEnabled.read(env)) return { routes, ...noInjection };
  const injectLog = log.child({ scope: "inject" });
  const places = await injectorPlaces(client, values.namespace, env);
  const source = await followInjector(places, { environment: env, now: Date.now }, injectLog);
  closers.defer(() => source.stop());
  routes.set("/inject", injectionRoute({ database, source, env, log: injectLog, meter }));
  return { routes, injectionTemplates: () => source.current()?.templates, injection: source };
}

function routeOf(handler: AdmissionHandler): Route {
  return ({ http }, response) => handler(http, response);
}

/** Adds the webhooks to a site. */
export function withWebhooks(site: Site, webhooks: WebhookRoutes): Site {
  const subtrees = [...webhooks].map(([path, route]): [string, Route] => [`${path}/`, route]);
  return {
    ...site,
    routes: new Map([...site.routes, ...webhooks]),
    subtrees: new Map([...(site.subtrees ?? []), ...subtrees]),
  };
}

/**
 * Starts the controllers of the webhook configurations of this revision. They run without a leader lock, because each
 * revision writes its own. Returns the CA bundle that they write, if it is known.
 */
export async function startWebhookControllers(
  { values, env, log, meter, closers }: Startup,
  { client }: Mesh,
  security: Security,
): Promise<CaBundle | undefined> {
  const roots = client && caBundle(security, caBundleErrors(meter));
  if (client === undefined || roots === undefined) return undefined;
  const revision = variables.revision.read(env) || "default";
  const run = (controller: Controller, onWrite: WriteListener): void => {
    const running = runController(controller, { client, log: log.child({ scope: "webhooks" }), onWrite });
    closers.defer(() => running.stop());
  };
  if (variables.injectionWebhookConfig.read(env) !== "")
    run(injectionWebhookController({ roots, revision }), injectionWebhookMetrics(meter));
  if (variables.validationWebhookConfig.read(env) === "") return roots;
  run(warningWebhookController({ roots, revision }), validationWebhookMetrics(meter));
  run(
    validationWebhookController({
      roots,
      revision,
      log: log.child({ scope: "validationController" }),
      probe: (signal) => probeValidation({ client, namespace: values.namespace, revision, signal }),
    }),
    validationWebhookMetrics(meter),
  );
  return roots;
}
