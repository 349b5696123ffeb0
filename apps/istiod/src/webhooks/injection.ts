import { type AdmissionRequest, type AdmissionResponse, admissionHandler } from "@istiod/admission";
import {
  defaultMeshConfig,
  meshConfig,
  meshConfigKey,
  namespaces,
  nodes,
  proxyConfigsByNamespace,
} from "@istiod/config-schema";
import type { Database } from "@istiod/incremental";
import {
  effectiveProxyConfig,
  injectionMetrics,
  type Injector,
  type InjectorSource,
  mutatePod,
  podReviewLimits,
  type ProxyConfigTarget,
  usesNativeSidecars,
} from "@istiod/injector";
import type { Meter } from "@istiod/metrics";
import { addressGroup } from "@istiod/peer-address";
import { monotonicClock } from "@istiod/runtime";
import type { Logger } from "pino";
import type { Route } from "@istiod/admin-server";
import { variables } from "../variables.js";

export interface InjectionOptions<C> {
  readonly database: Database<C>;
  readonly source: InjectorSource;
  readonly env: NodeJS.ProcessEnv;
  readonly log: Logger;
  readonly meter: Meter;
}

/** Returns the injection webhook, with its log lines and Istio's metrics. */
export function injectionRoute<C>(options: InjectionOptions<C>): Route {
  const { log, meter } = options;
  const metrics = injectionMetrics(meter);
  const handler = admissionHandler({
    groupOf: addressGroup,
    ...podReviewLimits,
    admit: (request, { url }) => {
      const response = mutate(request, url.pathname, options, metrics);
      metrics.answered();
      return response;
    },
    onError: (error, status) => {
      metrics.failed();
      log.error({ err: error, status }, `injection request rejected: ${error.message}`);
    },
  });
  return async ({ http }, response) => {
    const start = monotonicClock.now();
    metrics.received();
    await handler(http, response);
    metrics.took((monotonicClock.now() - start) / 1000);
  };
}

function mutate<C>(
  { object, namespace }: AdmissionRequest,
  path: string,
  options: InjectionOptions<C>,
  metrics: ReturnType<typeof injectionMetrics>,
): AdmissionResponse {
  const { source, log } = options;
  const injector = injectorOf(options);
  if (injector === undefined) {
    metrics.failed();
    log.error({ path }, `pod not injected: ${source.fault}`);
    return { allowed: false, message: `injection is not configured: ${source.fault}` };
  }
  const mutation = mutatePod({ object, namespace, path }, injector);
  const fields = { path, pod: mutation.pod };
  switch (mutation.outcome) {
    case "injected":
      log.info(fields, "pod injected");
      return { allowed: true, patch: mutation.patch as never, warnings: mutation.warnings };
    case "skipped":
      metrics.skipped();
      log.info({ ...fields, reason: mutation.reason }, "skipping injection due to policy check");
      return { allowed: true, warnings: mutation.warnings };
    case "failed":
      metrics.failed();
      log.error(fields, `pod injection failed: ${mutation.message}`);
      return { allowed: false, message: mutation.message };
  }
}

/** Returns the configuration of injection and of the mesh as they are now. */
function injectorOf<C>({ database, source, env }: InjectionOptions<C>): Injector | undefined {
  const documents = source.current();
  if (documents === undefined) return undefined;
  const mesh = database.read(meshConfig, meshConfigKey) ?? defaultMeshConfig();
  const { config, values } = documents;
  return {
    config,
    values,
    meshConfig: mesh,
    revision: variables.revision.read(env),
    compliancePolicy: variables.compliancePolicy.read(env),
    proxyConfig: (target: ProxyConfigTarget) => {
      const namespaces = [...new Set([mesh.rootNamespace, target.namespace])];
      return effectiveProxyConfig(
        mesh,
        namespaces.flatMap((name) => database.read(proxyConfigsByNamespace, name)),
        target,
      );
    },
    nativeSidecars: (cluster, nodeName) =>
      usesNativeSidecars(variables.nativeSidecars.read(env), nodesOf(database, cluster), nodeName),
    ...(variables.platform.read(env) === "openshift" && {
      namespace: (cluster: string, name: string) => namespaceOf(database, cluster, name),
    }),
  };
}

function namespaceOf<C>(database: Database<C>, cluster: string, name: string) {
  const { labels, annotations } = database.read(namespaces, `${cluster}/${name}`) ?? {};
  if (labels === undefined || annotations === undefined) return undefined;
  return { metadata: { name, labels: { ...labels }, annotations: { ...annotations } } };
}

function nodesOf<C>(database: Database<C>, cluster: string) {
  return database
    .keys(nodes)
    .filter((key) => key.startsWith(`${cluster}/`))
    .flatMap((key) => database.read(nodes, key) ?? [])
    .map(({ name, spec }) => ({ name, kubeletVersion: spec.kubeletVersion ?? "" }));
}
