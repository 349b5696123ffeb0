import {
  CertificateAuthority,
  DirectoryRootStore,
  istiodNames,
  keepRoot,
  kubernetesSecrets,
  readPluggedInCa,
  revocationFault,
  RootRotation,
  type RootStore,
  SecretRootStore,
  selfSignedBundle,
  type SignerAuthority,
  type SigningBundle,
  watchPluggedInCa,
} from "@istiod/ca";
import type { ApiClient } from "@istiod/kubernetes";
import type { X509Certificate } from "node:crypto";
import { join } from "node:path";
import type { Logger } from "pino";
import type { FlagValues } from "./flags.js";
import { warnOfExposedKeys } from "./key-permissions.js";
import { saveRemoteCerts } from "./remote-certs.js";
import { variables } from "./variables.js";

/** The authority that signs istiod's own certificate, and whose roots are distributed. */
export interface RunningAuthority {
  readonly authority: CertificateAuthority | SignerAuthority;
  /** Trust domain of this mesh. */
  readonly trustDomain: string;
  /** Names in istiod's own certificate. */
  readonly names: readonly string[];
  /**
   * When its own root should have been renewed at the latest, in milliseconds since the epoch. Absent: an operator
   * renews it.
   */
  readonly renewalDue?: (root: X509Certificate) => number;
  /** File of the revocation lists. Absent: none are read. */
  readonly revocationListsFile?: string;
  stop(): void;
}

/** The certificate authority of this istiod. */
export interface OwnAuthority extends RunningAuthority {
  readonly authority: CertificateAuthority;
}

/**
 * Starts the authority: the plugged-in CA in ROOT_CA_DIR, otherwise a self-signed root in --caDir, otherwise one in a
 * Secret of the cluster, which is written only if certificates are issued on --secureGRPCAddr. Returns undefined if
 * there is none of them, and with ENABLE_CA_SERVER=false.
 *
 * @throws CaError if its files cannot be used
 */
export async function startAuthority(
  values: FlagValues,
  trustDomain: string,
  env: NodeJS.ProcessEnv,
  log: Logger,
  client?: ApiClient,
): Promise<OwnAuthority | undefined> {
  if (!variables.caServer.read(env)) return undefined;
  const names = servingNames(values, env);
  if (client !== undefined && variables.usesRemoteCerts.read(env))
    await saveRemoteCerts(variables.rootCaDirectory.read(env), { client, namespace: values.namespace, log });
  const issuer =
    (await startPluggedInCa(env, log)) ??
    (values.caDir ? await startSelfSignedCaIn(values.caDir, trustDomain, env, log) : undefined) ??
    (client && values.secureGRPCAddr !== ""
      ? await startSelfSignedCa(secretRootStore(client, values.namespace, env), trustDomain, env, log)
      : undefined);
  return issuer && { ...issuer, trustDomain, names };
}

/** Returns the names in istiod's own certificate. */
export function servingNames(values: FlagValues, env: NodeJS.ProcessEnv): readonly string[] {
  return istiodNames({
    namespace: values.namespace,
    revision: variables.revision.read(env),
    customHosts: variables.customHosts.read(env),
  });
}

type Issuer = Omit<OwnAuthority, "trustDomain" | "names">;

async function startPluggedInCa(env: NodeJS.ProcessEnv, log: Logger): Promise<Issuer | undefined> {
  const directory = variables.rootCaDirectory.read(env);
  const readsRevocationLists = variables.revocationLists.read(env);
  const multiRoot = variables.multiRoot.read(env);
  const bundle = await readPluggedInCa(directory, Date.now(), { readsRevocationLists });
  if (bundle === undefined) return undefined;
  const authority = new CertificateAuthority({ bundle, ...certificateLifetimes(env) });
  const stop = watchPluggedInCa({
    directory,
    authority,
    readsRevocationLists,
    multiRoot,
    onError: (error) => logError(log, error),
    onReload: (next) => log.info({ directory, ...summaryOf(next) }, "plugged-in CA reloaded"),
  });
  log.info({ directory, ...summaryOf(bundle) }, "using the plugged-in CA");
  const fault = revocationFault(bundle, Date.now());
  if (fault !== undefined) log.error(fault);
  await warnOfExposedKeys([join(directory, "ca-key.pem"), join(directory, "tls.key")], log);
  return { authority, stop, ...(readsRevocationLists && { revocationListsFile: join(directory, "ca-crl.pem") }) };
}

/** Returns what operators check after a change of the files. */
function summaryOf({ roots, notAfter, revocationLists }: SigningBundle): Readonly<Record<string, unknown>> {
  return {
    roots: roots.length,
    expires: new Date(notAfter).toISOString(),
    ...(revocationLists.length > 0 && { revocationLists: revocationLists.length }),
  };
}

async function startSelfSignedCaIn(
  directory: string,
  trustDomain: string,
  env: NodeJS.ProcessEnv,
  log: Logger,
): Promise<Issuer> {
  const issuer = await startSelfSignedCa(new DirectoryRootStore(directory), trustDomain, env, log);
  await warnOfExposedKeys([join(directory, "ca-key.pem")], log);
  return issuer;
}

function secretRootStore(client: ApiClient, namespace: string, env: NodeJS.ProcessEnv): RootStore {
  return new SecretRootStore(kubernetesSecrets(client, namespace), { useCacerts: variables.useCacerts.read(env) });
}

async function startSelfSignedCa(
  store: RootStore,
  trustDomain: string,
  env: NodeJS.ProcessEnv,
  log: Logger,
): Promise<Issuer> {
  const lifetime = variables.rootLifetime.read(env);
  const key = { type: "rsa", bits: variables.rootKeyBits.read(env) } as const;
  const root = await keepRoot(store, { organization: trustDomain, lifetime, key }, Date.now());
  const authority = new CertificateAuthority({
    bundle: selfSignedBundle(root, store.description, Date.now()),
    ...certificateLifetimes(env),
  });
  log.info({ store: store.description }, "using a self-signed root");
  const interval = variables.rootCheckInterval.read(env);
  // As in Istio, an interval of zero turns rotation off.
  if (interval === 0) return { authority, stop: () => undefined };
  const rotation = new RootRotation({
    authority,
    store,
    interval,
    grace: variables.rootGracePercentile.read(env) / 100,
    lifetime,
    ...(!variables.rootCheckJitter.read(env) && { random: () => 0 }),
    onError: (error) => logError(log, error),
  });
  return { authority, renewalDue: (certificate) => rotation.renewalDue(certificate), stop: rotation.start() };
}

function certificateLifetimes(env: NodeJS.ProcessEnv): { defaultLifetime: number; maxLifetime: number } {
  return {
    defaultLifetime: variables.workloadCertificateLifetime.read(env),
    maxLifetime: variables.maxWorkloadCertificateLifetime.read(env),
  };
}

function logError(log: Logger, error: Error): void {
  log.error({ err: error }, "certificate authority");
}
