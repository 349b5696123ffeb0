import { monotonicClock } from "@istiod/runtime";
import { rejectedResourceMetrics } from "@istiod/push-report";
import { createXdsServer, type XdsServer } from "@istiod/xds-server";
import { type ApiClient, CachedReviews } from "@istiod/kubernetes";
import { remoteReviews } from "@istiod/config-ingestion";
import {
  configAuthorization,
  describeIndexFailure,
  MeshSource,
  SecretAccessReviews,
  streamIdentity,
} from "@istiod/mesh-source";
import { openFilesWarning } from "../connection-limits.js";
import { BoundedLines } from "@istiod/logging";
import { workloadRegistration } from "../controllers/workload-registration.js";
import { variables } from "../variables.js";
import type { Mesh } from "./mesh.js";
import type { Security } from "./security.js";
import type { Startup } from "./startup.js";

/** The xDS server and the source of its resources. */
export interface Serving {
  readonly source: MeshSource;
  readonly server: XdsServer;
}

/** Creates the xDS server of the mesh. It has no listeners yet. */
export function openServing(
  startup: Startup,
  { database, client, ingestion, secretClusters, reporting, rootNamespace }: Mesh,
  security: Security,
): Serving {
  const { values, env, settings, log, meter, closers } = startup;
  const certificateErrors = meter.counter({
    name: "pilot_sds_certificate_errors_total",
    help: "Secrets that were requested and could not be served.",
  });
  const reviews = client && secretAccessReviews({ values, log }, { database, client, ingestion });
  if (reviews !== undefined) {
    closers.defer(() => reviews.stop());
    closers.defer(secretClusters.follow(database));
    closers.defer(secretClusters.onChange((cluster, change) => reviews.clusterChanged(cluster, change)));
  }
  const register = client && workloadRegistration(startup, client);
  const source = new MeshSource({
    database,
    ...(register && { register }),
    ...(reviews && { holdSecretPermission: (reader) => reviews.hold(reader) }),
    authorizeConfig: configAuthorization({ isRequired: variables.configAuthentication.read(env), rootNamespace }),
    log: log.child({ scope: "ads" }),
    clusterAliases: values.clusterAliases,
    ...((security.authenticators.length > 0 || variables.xdsAuthPlaintext.read(env)) && {
      authorize: streamAuthorization({ env, log, meter }, security),
    }),
    onSecretDenied: () => certificateErrors.add(),
  });
  const fewFiles = openFilesWarning(env);
  if (fewFiles !== undefined) log.warn(fewFiles);
  meter.observeGauge(
    {
      name: "istiod_failed_resources",
      help: "Resources of connected proxies that cannot be generated: the last good version is kept, or it is left out.",
    },
    () => source.failed().size,
  );
  meter.observeGauge(
    {
      name: "istiod_unindexed_objects",
      help: "Objects that cannot be indexed, and are not found by what the index is for. A fault of istiod.",
    },
    () => new Set(database.indexFailures().map((failure) => describeIndexFailure(failure)[0])).size,
  );
  const server = createXdsServer(source, {
    attribution: reporting.attribution,
    observe: (event) => reporting.observe(event),
    concurrentPushes: settings.push.concurrentPushes,
    limits: settings.streams,
    streamsPerSecond: settings.push.streamsPerSecond,
    ...settings.limits,
  });
  rejectedResourceMetrics(meter, server);
  closers.defer(() => server.close({ graceMs: settings.shutdownMs }));
  reporting.started();
  return { source, server };
}

/** Returns the reviews of readers of Secrets, each by the API server of its own cluster. */
function secretAccessReviews(
  { values, log }: Pick<Startup, "values" | "log">,
  { database, client, ingestion }: Pick<Mesh, "database" | "ingestion"> & { readonly client: ApiClient },
): SecretAccessReviews {
  const own = new CachedReviews(client);
  const remote = remoteReviews(ingestion);
  return new SecretAccessReviews({
    database,
    reviewsOf: (cluster) => (cluster === values.clusterID ? own : remote().get(cluster)),
    log: log.child({ scope: "ads" }),
  });
}

/** Returns the authorization of streams, which logs and counts rejected ones. */
function streamAuthorization(
  { env, log, meter }: Pick<Startup, "env" | "log" | "meter">,
  { authenticators, trustDomain }: Security,
): ReturnType<typeof streamIdentity> {
  const rejections = meter.counter({
    name: "istiod_xds_rejected_callers_total",
    help: "xDS streams rejected because of the caller's credentials: unauthenticated, trust_domain, or identity.",
    labels: ["reason"],
  });
  const adsLog = log.child({ scope: "ads" });
  const bounded = new BoundedLines(monotonicClock);
  return streamIdentity({
    authenticators,
    trustDomain,
    isEnabled: variables.xdsAuth.read(env),
    authenticatesPlaintext: variables.xdsAuthPlaintext.read(env),
    checksClaims: variables.xdsIdentityCheck.read(env),
    onRejected: ({ nodeId }, { address }, reason, details) => {
      rejections.add({ reason });
      const fields = { proxy: nodeId, peer: address, reason };
      bounded.write(adsLog, "warn", `Unauthorized XDS: ${reason}`, fields, `Unauthorized XDS: ${details}`);
    },
  });
}
