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

/** The certificate authority of this istiod, and who may ask it. */
export interface RunningAuthority {
  readonly authority: CertificateAuthority;
  readonly authenticators: readonly Authenticator[];
  /** Names in istiod's own certificate. */
  readonly names: readonly string[];
  /** When its own root should have been renewed at the latest, in milliseconds since the epoch. Absent: an operator renews it. */
  readonly renewalDue?: (root: X509Certificate) => number;
  stop(): void;
}

/**
 * Starts the authority: an operator's, plugged in by ROOT_CA_DIR, else one that makes its own root in --caDir.
 * Undefined where neither is given.
 *
 * @throws CaError where what is there cannot be used.
 */
export async function startAuthority(values: FlagValues, trustDomain: string, env: NodeJS.ProcessEnv, log: Logger): Promise<RunningAuthority | undefined> {
  const authenticators = [clientCertificate, ...(values.tokensDir ? [tokenDirectory({ directory: values.tokensDir, trustDomain })] : [])];
  const revision = env["REVISION"] ?? "";
  const customHosts = (env["ISTIOD_CUSTOM_HOST"] ?? "").split(",").filter((h) => h !== "");
  const names = istiodNames({ namespace: values.namespace, revision, customHosts });
  const onError = (error: Error): void => log.error({ err: error }, "certificate authority");
  const pluggedIn = env["ROOT_CA_DIR"] ?? "./etc/cacerts";
  const bundle = await readPluggedInCa(pluggedIn, Date.now());
  if (bundle) {
    const authority = new CertificateAuthority({ bundle });
    const stop = watchPluggedInCa({ directory: pluggedIn, authority, onError, onReload: () => log.info({ directory: pluggedIn }, "plugged-in CA reloaded") });
    log.info({ directory: pluggedIn }, "using the plugged-in CA");
    return { authority, authenticators, names, stop };
  }
  if (!values.caDir) return undefined;
  const store = new DirectoryRootStore(values.caDir);
  const root = await keepRoot(store, { organization: trustDomain }, Date.now());
  const authority = new CertificateAuthority({ bundle: selfSignedBundle(root, values.caDir, Date.now()) });
  log.info({ directory: values.caDir }, "using a self-signed root");
  const rotation = new RootRotation({ authority, store, onError });
  return { authority, authenticators, names, renewalDue: (certificate) => rotation.renewalDue(certificate), stop: rotation.start() };
}
