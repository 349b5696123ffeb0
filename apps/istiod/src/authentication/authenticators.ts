import {
  type Authenticator,
  clientCertificates,
  followTokenKeys,
  forwardedCertificates,
  holdsPrivateKey,
  kubernetesTokens,
  signedTokens,
  tokenDirectory,
  tokenKeyIssuer,
  type TrustBundle,
} from "@istiod/ca";
import { type ApiClient, CachedReviews } from "@istiod/kubernetes";
import type { Logger } from "pino";
import type { Startup } from "../phases/startup.js";
import { variables } from "../variables.js";
import { unusedAuthentication } from "./authentication-settings.js";
import { issuerTokens } from "./issuer-tokens.js";

export interface CallerOptions {
  readonly trustDomain: string;
  readonly bundles: () => readonly TrustBundle[];
  /** Client of the cluster that authenticates tokens. */
  readonly client?: ApiClient | undefined;
  /** Returns the token reviews of the remote clusters by their IDs. Default: none. */
  readonly remoteReviews?: () => ReadonlyMap<string, CachedReviews>;
}

/** The authentication methods of callers. */
export interface CallerAuthenticators {
  /** Of xDS streams and debug pages. */
  readonly callers: readonly Authenticator[];
  /** Of requests for certificates: the same, and the tokens of TOKEN_ISSUER. */
  readonly certificateCallers: readonly Authenticator[];
}

/**
 * Returns the authenticators of callers in Istio's order: client certificates, which must lead to a root of their own
 * trust domain; tokens of JWT_RULE; tokens of the cluster; certificates that trusted gateways forward. The tokens of
 * files, which Istio does not have, come before those of the cluster, so that they do not reach its API server. A
 * certificate takes precedence over a token for another identity.
 */
export async function callerAuthenticators(
  startup: Startup,
  { trustDomain, bundles, client, remoteReviews }: CallerOptions,
  log: Logger,
): Promise<CallerAuthenticators> {
  const { values, env, settings } = startup;
  const { jwtRule, tokenIssuer, trustedGateways } = settings.authentication;
  for (const warning of unusedAuthentication(env)) log.warn(warning);
  const callers = [
    clientCertificates({ bundles }),
    ...(jwtRule ? [await issuerTokens(jwtRule, "JWT_RULE", trustDomain, startup)] : []),
    ...(values.tokenKeyFile ? [await keyFileTokens(startup, trustDomain, log)] : []),
    ...(values.tokensDir ? [await checkedTokens(values.tokensDir, trustDomain, log)] : []),
    ...(client
      ? [
          kubernetesTokens({
            clusterId: values.clusterID,
            reviews: new CachedReviews(client),
            clusterAliases: values.clusterAliases,
            ...(remoteReviews && { remoteReviews }),
            audiences: variables.tokenAudiences.read(env),
            trustDomain,
          }),
        ]
      : []),
    ...(trustedGateways ? [forwardedCertificates({ trusted: trustedGateways, trustDomain })] : []),
  ];
  const certificateCallers = [
    ...callers,
    ...(tokenIssuer ? [await issuerTokens(tokenIssuer, "TOKEN_ISSUER", trustDomain, startup)] : []),
  ];
  if (certificateCallers.length === 1 && values.secureGRPCAddr !== "")
    log.warn(
      "neither --tokenKeyFile nor --tokensDir is set: callers are authenticated by certificates only, so workloads cannot get their first one",
    );
  return { callers, certificateCallers };
}

/** Returns the authenticator of the tokens of `istiod token create`. The file is read again when it changes. */
async function keyFileTokens(
  { values, env, closers }: Startup,
  trustDomain: string,
  log: Logger,
): Promise<Authenticator> {
  const { tokenKeyFile: path } = values;
  const keys = await followTokenKeys({
    path,
    onChange: () => log.info({ file: path }, "--tokenKeyFile: keys reloaded"),
    onError: (error) => log.error({ file: path }, `--tokenKeyFile: keeping the last good keys: ${error.message}`),
  }).catch((error: Error) => {
    throw new Error(`--tokenKeyFile: ${error.message}`, { cause: error });
  });
  closers.defer(() => keys.stop());
  if (await holdsPrivateKey(path))
    log.warn({ file: path }, `--tokenKeyFile: ${path} holds a private key; the public part is enough to verify tokens`);
  return signedTokens({
    name: "token of --tokenKeyFile",
    issuer: tokenKeyIssuer,
    audiences: variables.tokenAudiences.read(env),
    keys: () => keys.current(),
    trustDomain,
  });
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
