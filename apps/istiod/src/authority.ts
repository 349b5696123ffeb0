import {
  type Authenticator,
  CertificateAuthority,
  DirectoryRootStore,
  clientCertificate,
  istiodNames,
  keepRoot,
  readPluggedInCa,
  RootRotation,
  selfSignedBundle,
  tokenDirectory,
  watchPluggedInCa,
} from "@istiod/ca";
import type { X509Certificate } from "node:crypto";
import type { Logger } from "pino";
import type { FlagValues } from "./flags.js";
import { variables } from "./variables.js";

/** The certificate authority of this istiod and the authenticators of its callers. */
export interface RunningAuthority {
  readonly authority: CertificateAuthority;
  readonly authenticators: readonly Authenticator[];
  /** Names in istiod's own certificate. */
  readonly names: readonly string[];
  /**
   * When its own root should have been renewed at the latest, in milliseconds since the epoch. Absent: an operator
   * renews it.
   */
  readonly renewalDue?: (root: X509Certificate) => number;
  stop(): void;
}

/**
 * Starts the authority: the plugged-in CA in ROOT_CA_DIR, otherwise a self-signed root in --caDir. Returns undefined if
 * neither exists.
 *
 * @throws CaError if its files cannot be used
 */
export async function startAuthority(
  values: FlagValues,
  trustDomain: string,
  env: NodeJS.ProcessEnv,
  log: Logger,
): Promise<RunningAuthority | undefined> {
  const authenticators = [
    clientCertificate,
    ...(values.tokensDir ? [await checkedTokens(values.tokensDir, trustDomain, log)] : []),
  ];
  const names = istiodNames({
    namespace: values.namespace,
    revision: variables.revision.read(env),
    customHosts: variables.customHosts.read(env),
  });
  const onError = (error: Error): void => log.error({ err: error }, "certificate authority");
  const lifetimes = {
    defaultLifetime: variables.workloadCertificateLifetime.read(env),
    maxLifetime: variables.maxWorkloadCertificateLifetime.read(env),
  };
  const pluggedIn = variables.rootCaDirectory.read(env);
  const bundle = await readPluggedInCa(pluggedIn, Date.now());
  if (bundle) {
    const authority = new CertificateAuthority({ bundle, ...lifetimes });
    const stop = watchPluggedInCa({
      directory: pluggedIn,
      authority,
      onError,
      onReload: () => log.info({ directory: pluggedIn }, "plugged-in CA reloaded"),
    });
    log.info({ directory: pluggedIn }, "using the plugged-in CA");
    return { authority, authenticators, names, stop };
  }
  if (!values.caDir) return undefined;
  const store = new DirectoryRootStore(values.caDir);
  const lifetime = variables.rootLifetime.read(env);
  const root = await keepRoot(
    store,
    { organization: trustDomain, lifetime, key: { type: "rsa", bits: variables.rootKeyBits.read(env) } },
    Date.now(),
  );
  const authority = new CertificateAuthority({
    bundle: selfSignedBundle(root, values.caDir, Date.now()),
    ...lifetimes,
  });
  log.info({ directory: values.caDir }, "using a self-signed root");
  const interval = variables.rootCheckInterval.read(env);
  const rotation = new RootRotation({
    authority,
    store,
    interval,
    grace: variables.rootGracePercentile.read(env) / 100,
    lifetime,
    onError,
  });
  // As in Istio, an interval of zero turns rotation off.
  if (interval === 0) return { authority, authenticators, names, stop: () => undefined };
  return {
    authority,
    authenticators,
    names,
    renewalDue: (certificate) => rotation.renewalDue(certificate),
    stop: rotation.start(),
  };
}

/** Returns the authenticator of --tokensDir. Unusable files are logged at startup and whenever they are found. */
async function checkedTokens(directory: string, trustDomain: string, log: Logger): Promise<Authenticator> {
  const tokens = tokenDirectory({
    directory,
    trustDomain,
    onUnusable: ({ path, reason }) => log.error({ file: path }, `--tokensDir: ${path} ${reason}`),
  });
  await tokens.check();
  return tokens;
}
