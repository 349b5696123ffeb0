import { type AuthorityBundle, CertificateAuthority, type TrustSource } from "@istiod/ca";
import {
  type CandidateOptions,
  type DistributedText,
  followDefaultRevision,
  isControlledFrom,
  RemoteControllers,
  type RootCertificates,
  runController,
  runElected,
  type RunOptions,
  StatusAnalysis,
} from "@istiod/controllers";
import { type ApiClient, createApiClient, parseKubeconfig } from "@istiod/kubernetes";
import type { Proxy } from "@istiod/push-context";
import { instanceIdentity } from "../controllers/instance-identity.js";
import { type ControllerInputs, ownControllers, remoteControllers } from "../controllers/controllers-of-cluster.js";
import { meshSettings } from "../controllers/mesh-settings.js";
import { gatewayControllers } from "../controllers/gateway-controllers.js";
import { distributedRoots } from "../serving-roots.js";
import { variables } from "../variables.js";
import type { LockedController } from "../controllers/controllers-of-cluster.js";
import type { Introspection } from "./introspection.js";
import type { Mesh } from "./mesh.js";
import type { Security } from "./security.js";
import type { Startup } from "./startup.js";
import type { Webhooks } from "./webhooks.js";

/** The parts of istiod whose state controllers write. */
export interface ControllerSources
  extends Pick<Security, "authority" | "servingRoots">, Pick<Introspection, "analysis"> {
  /** CA bundle of the webhooks, if it is known. */
  readonly webhookRoots: RootCertificates | undefined;
  readonly injection: Webhooks["injection"];
}

/**
 * Shorter than Istio's, with which another istiod may lead only a minute after the leader was killed: a candidate sees
 * a renewal up to 2.2 retry periods late, and waits for the lease from then on. A renewal that hangs, for half the
 * deadline, leaves time for another. Renewals are most of what an idle istiod does.
 */
const electionTiming = {
  leaseDurationMs: 20_000,
  renewDeadlineMs: 12_000,
  renewPeriodMs: 5_000,
  retryPeriodMs: 4_000,
};

/** Starts the controllers, which write to istiod's own cluster and to remote ones. Does nothing without a cluster. */
export function openControllers(
  startup: Startup,
  mesh: Mesh,
  { authority, servingRoots, analysis, webhookRoots, injection }: ControllerSources,
): void {
  const { values, env, log, closers } = startup;
  const { client, availability, database, remoteAccess } = mesh;
  if (client === undefined) return;
  const inputs: ControllerInputs = {
    values,
    env,
    mesh: meshSettings(database),
    analysis: statusAnalysis(startup, mesh, analysis),
    webhookRoots,
    roots: authority && distributedRoots(servingRoots, authority.authority),
    revocationLists:
      authority?.authority instanceof CertificateAuthority && variables.revocationLists.read(env)
        ? textOf(authority.authority, knownRevocationLists)
        : undefined,
  };
  if (inputs.revocationLists?.current() && variables.clusterTrustBundles.read(env))
    log.warn(
      "ENABLE_CLUSTER_TRUST_BUNDLE_API=true: the revocation lists in ca-crl.pem are not distributed, as ConfigMaps alone can have them",
    );
  const candidate = candidateOptions(startup);
  const gateways = gatewayControllers({ startup, mesh, client, injection, settings: inputs.mesh });
  const own = runControllers([...ownControllers(inputs), ...gateways], { ...candidate, client, availability });
  closers.defer(() => own());

  const isExternal = variables.externalIstiod.read(env);
  const limits = { userAgent: "istiod", qps: values.kubernetesApiQPS, burst: values.kubernetesApiBurst };
  const remote = new RemoteControllers({
    log,
    connect: async (kubeconfig) => createApiClient(await parseKubeconfig(kubeconfig), limits),
    start: async (cluster, client, signal) => {
      const { namespace, clusterID } = values;
      const isLed = isExternal && (await isControlledFrom(clusterID, { client, namespace, signal }));
      log.info({ cluster }, `should join leader-election for cluster ${cluster}: ${isLed}`);
      return runControllers(remoteControllers(inputs, isLed), { ...candidate, client, isRemote: true });
    },
  });
  const unfollow = remoteAccess.follow((change) => remote.change(change));
  closers.defer(async () => {
    unfollow();
    await remote.stop();
  });
}

/** Returns the findings to write to the status of objects; undefined if they are not written. */
function statusAnalysis(
  { env, closers }: Startup,
  { database, ingestion, sources: { cluster } }: Mesh,
  analysis: Introspection["analysis"],
): StatusAnalysis<Proxy> | undefined {
  if (cluster === undefined || variables.analysis.read(env) !== "write") return undefined;
  const intervalMs = variables.analysisInterval.read(env);
  const results = new StatusAnalysis({ analysis, database, ingestion, cluster, intervalMs });
  closers.defer(() => results.stop());
  return results;
}

/** Lets controllers of one cluster compete for their locks. Returns a function that ends and releases them. */
function runControllers(
  controllers: readonly LockedController[],
  options: Omit<CandidateOptions, "defaultRevision"> & Pick<RunOptions, "client" | "availability">,
): () => Promise<void> {
  if (controllers.length === 0) return async () => undefined;
  const { client, availability, log } = options;
  const defaultRevision = followDefaultRevision(client);
  const candidacies = controllers.map(({ lock, controller }) => {
    const run = (fenced: ApiClient) => runController(controller, { client: fenced, availability, log });
    if (lock === undefined) return run(client);
    return runElected(lock, run, { ...options, defaultRevision: () => defaultRevision.current() });
  });
  return async () => {
    defaultRevision.stop();
    await Promise.all(candidacies.map((candidacy) => candidacy.stop()));
  };
}

function candidateOptions({ values, env, log }: Startup): Omit<CandidateOptions, "client" | "defaultRevision"> {
  return {
    namespace: values.namespace,
    identity: instanceIdentity(env),
    revision: variables.revision.read(env) || "default",
    isElected: variables.leaderElection.read(env),
    timing: electionTiming,
    log: log.child({ scope: "controllers" }),
  };
}

/** Returns the revocation lists; undefined if the operator's were invalid from the start. */
function knownRevocationLists({ revocationProblem, revocationListsPem }: AuthorityBundle): string | undefined {
  return revocationProblem !== undefined && revocationListsPem === "" ? undefined : revocationListsPem;
}

/** Returns a text of the authority's bundle with its changes. */
function textOf<T extends string | undefined>(
  authority: TrustSource,
  select: (bundle: AuthorityBundle) => T,
): { current(): T } & Pick<DistributedText, "onChange"> {
  return { current: () => select(authority.bundle), onChange: (listener) => authority.onChange(listener) };
}
