import {
  type Authenticator,
  type AuthorizeImpersonation,
  CertificateAuthority,
  type CertificateEvents,
  certificateAuditLog,
  certificateMetrics,
  type ExpiringAuthority,
  joinEvents,
  observeRevocationLists,
  type KeptServingTls,
  type LeafIssuer,
  nodeImpersonation,
  type ServingTls,
  type TrustBundle,
  trustBundleOf,
} from "@istiod/ca";
import { meshConfig, meshConfigKey } from "@istiod/config-schema";
import { nodePods } from "@istiod/service-discovery";
import { warnOfUnusedRoots } from "../configured-roots.js";
import { callerAuthenticators } from "../authentication/authenticators.js";
import { type RunningAuthority, servingNames, startAuthority } from "../authority.js";
import { remoteReviews } from "@istiod/config-ingestion";
import { type ExternalAuthority, openExternalAuthority, openSignerAuthority } from "../external-authority.js";
import { openSpiffeBundles, type SpiffeBundles } from "../jwks/spiffe-bundles.js";
import { type ServingPlaces, servingPlaces } from "../serving-places.js";
import { openServingRoots, type ServingRoots } from "../serving-roots.js";
import { servingTls } from "../serving-tls.js";
import { checkTlsFlags, type TlsLimits, tlsLimits } from "../tls-limits.js";
import { followTrustAnchors } from "../trust-anchors.js";
import { followTrustDomain } from "../trust-domain-change.js";
import { variables } from "../variables.js";
import type { Mesh } from "./mesh.js";
import type { Startup } from "./startup.js";

/** The certificate authority, the authenticators of callers, and the serving certificate. */
export interface Security {
  /** Absent: this istiod issues no certificates. */
  readonly authority: RunningAuthority | undefined;
  /** Absent: istiod's own CA signs workload certificates. */
  readonly external: ExternalAuthority | undefined;
  /** Absent: agents are not sent the roots of SPIFFE bundles. */
  readonly bundles: SpiffeBundles | undefined;
  /** Trust domain of this mesh. Callers of others are not authorized for anything. */
  readonly trustDomain: string;
  /** Empty without an authority, a cluster and another issuer: every caller is unauthenticated. */
  readonly authenticators: readonly Authenticator[];
  /** The same for callers of the certificate authority. */
  readonly certificateAuthenticators: readonly Authenticator[];
  /** Absent without trusted node accounts: no caller may impersonate another identity. */
  readonly authorizeImpersonation: AuthorizeImpersonation | undefined;
  /** Absent if no TLS listener is configured. */
  readonly secure: SecureServing | undefined;
  /** Roots of a serving certificate that is issued elsewhere. Absent: istiod's CA issues it, or they are not known. */
  readonly servingRoots: ServingRoots | undefined;
}

/** Prerequisites of serving over TLS. */
export interface SecureServing {
  /** Issues the certificates of workloads. */
  /** Absent: no certificates are issued. */
  readonly authority: LeafIssuer | undefined;
  readonly events: CertificateEvents;
  readonly limits: TlsLimits;
  /** True if the serving certificate is issued elsewhere. */
  readonly isFromFiles: boolean;
  current(): ServingTls;
  onChange: KeptServingTls["onChange"];
}

/** Starts the authority and obtains the serving certificate. @throws Error that names the flag or file */
export async function openSecurity(startup: Startup, mesh: Mesh): Promise<Security> {
  const { database, client, ingestion } = mesh;
  const { values, env, log, closers } = startup;
  const trustDomain = database.read(meshConfig, meshConfigKey)?.trustDomain || "cluster.local";
  const authorityLog = log.child({ scope: "pkica" });
  const { authority, external } = await openAuthorities(startup, mesh, trustDomain, authorityLog);
  const sendsRoots = authority !== undefined && variables.multiRoot.read(env);
  if (sendsRoots) {
    const sources = [authority.authority, ...(external?.roots === undefined ? [] : [external.roots])];
    closers.defer(followTrustAnchors(sources, database));
  }
  const rootUses = { areSent: sendsRoots, areOfSigners: external !== undefined };
  closers.defer(warnOfUnusedRoots(database, rootUses, authorityLog));
  if (authority?.revocationListsFile !== undefined) observeRevocationLists(startup.meter, authority.authority);
  if (authority !== undefined) closers.defer(followTrustDomain(trustDomain, mesh, authorityLog));
  const bundles = await openBundles(startup, database, authority);
  checkTlsFlags(values);
  const places = servingPlaces(values, trustDomain, authorityLog);
  const isServed = isTlsServed(startup, mesh, authority !== undefined || places.files !== undefined);
  const tls = isServed ? await openTls(startup, { authority, external, trustDomain }, places, authorityLog) : undefined;
  const servingRoots = tls && (await openRoots(startup, places, authorityLog));
  const authorizeImpersonation = impersonation(startup, mesh);
  const opened = { authority, external, bundles, trustDomain, authorizeImpersonation, servingRoots };
  if (authority === undefined && client === undefined && places.clientRoots === undefined && !hasOtherIssuers(startup))
    return { ...opened, authenticators: [], certificateAuthenticators: [], secure: tls };
  const clientBundles = (): readonly TrustBundle[] => {
    if (tls !== undefined) return tls.current().trustBundles;
    return authority === undefined ? [] : [trustBundleOf(trustDomain, authority.authority.bundle)];
  };
  const callers = { trustDomain, bundles: clientBundles, client, remoteReviews: remoteReviews(ingestion) };
  const authenticators = await callerAuthenticators(startup, callers, authorityLog);
  return {
    ...opened,
    authenticators: authenticators.callers,
    certificateAuthenticators: authenticators.certificateCallers,
    secure: tls,
  };
}

/**
 * Reports whether a TLS listener is served. Without a certificate, webhooks are not; and as in Istio, with
 * ENABLE_CA_SERVER=false, neither is the secure xDS.
 *
 * @throws Error if there is no certificate for --secureGRPCAddr otherwise
 */
function isTlsServed({ values, env, settings, log }: Startup, { client }: Mesh, hasCertificate: boolean): boolean {
  const { secureGRPCAddr, httpsAddr } = settings.addresses;
  const hasWebhooks = httpsAddr !== undefined && client !== undefined;
  if (hasCertificate) return secureGRPCAddr !== undefined || hasWebhooks;
  if (hasWebhooks)
    log.warn(
      `--httpsAddr ${values.httpsAddr}: webhooks are not served, because there is no certificate authority: give --secureGRPCAddr, --caDir or ROOT_CA_DIR`,
    );
  if (secureGRPCAddr === undefined) return false;
  if (variables.caServer.read(env))
    throw new Error(
      '--secureGRPCAddr needs a certificate authority: give --caDir, plug one in by ROOT_CA_DIR, read a cluster, or disable it with --secureGRPCAddr ""',
    );
  log.warn(
    `--secureGRPCAddr ${values.secureGRPCAddr}: not served with ENABLE_CA_SERVER=false without a certificate: give --tlsCertFile, --tlsKeyFile and --caCertFile, or put it in ./var/run/secrets/istiod`,
  );
  return false;
}

/** Follows the roots of a serving certificate from elsewhere. */
async function openRoots(
  { closers }: Startup,
  { files, servingRoots: file }: ServingPlaces,
  log: Startup["log"],
): Promise<ServingRoots | undefined> {
  if (files === undefined) return undefined;
  if (file === undefined) {
    log.warn(
      `--caCertFile is not set: the root of --tlsCertFile is unknown, so it is not distributed, and agents without it cannot connect`,
    );
    return undefined;
  }
  const roots = await openServingRoots(file, log);
  closers.defer(() => roots.stop());
  return roots;
}

/** Reports whether callers can be authenticated without an authority and a cluster, such as those of debug pages. */
function hasOtherIssuers({ values, settings }: Startup): boolean {
  const { jwtRule, trustedGateways } = settings.authentication;
  return values.tokenKeyFile !== "" || jwtRule !== undefined || trustedGateways !== undefined;
}

/** Returns the authorization of node agents to impersonate Pods on their nodes; undefined without trusted accounts. */
function impersonation({ settings }: Startup, { database }: Mesh): AuthorizeImpersonation | undefined {
  const { trustedNodeAccounts: trustedAccounts } = settings.authentication;
  return trustedAccounts.size === 0 ? undefined : nodeImpersonation({ trustedAccounts, pods: nodePods(database) });
}

/** Opens the SPIFFE bundles if agents are sent roots. */
async function openBundles(
  { settings, env, meter, log, closers }: Startup,
  database: Mesh["database"],
  authority: RunningAuthority | undefined,
): Promise<SpiffeBundles | undefined> {
  if (authority === undefined || !variables.multiRoot.read(env)) return undefined;
  const opened = await openSpiffeBundles({ settings, meter, database, log: log.child({ scope: "trustBundle" }) });
  closers.defer(() => opened.stop());
  return opened;
}

/** Opens the external authority, and the one that signs istiod's certificate: a signer, or its own CA. */
async function openAuthorities(
  { values, env, meter, closers }: Startup,
  { client, database }: Mesh,
  trustDomain: string,
  log: Startup["log"],
): Promise<Pick<Security, "authority" | "external">> {
  const external = await openExternalAuthority({ env, client, database, meter, log });
  if (external !== undefined) closers.defer(() => external.stop());
  const signer = external && openSignerAuthority({ env, database, log }, external);
  const authority: RunningAuthority | undefined = signer
    ? { ...signer, trustDomain, names: servingNames(values, env) }
    : await startAuthority(values, trustDomain, env, log, client);
  if (authority !== undefined) closers.defer(() => authority.stop());
  return { authority, external };
}

/** Returns the authority whose expiry is measured: the roots of an external one, as in Istio, or istiod's own. */
function expiringAuthority(
  running: RunningAuthority | undefined,
  external: ExternalAuthority | undefined,
): ExpiringAuthority {
  const authority = running?.authority;
  if (external === undefined) return authority ?? { expiry: () => ({}) };
  const { roots } = external;
  return {
    expiry: () => ({
      root: roots === undefined ? authority?.expiry().root : Date.parse(roots.bundle.roots[0]?.validTo ?? ""),
    }),
  };
}

async function openTls(
  { values, env, log, meter, closers }: Startup,
  { authority, external, trustDomain }: Pick<Security, "authority" | "external" | "trustDomain">,
  { files, clientRoots }: ServingPlaces,
  authorityLog: Startup["log"],
): Promise<SecureServing> {
  const limits = tlsLimits(values, env);
  const ownSigns = authority?.authority instanceof CertificateAuthority;
  const tls = await servingTls(
    values,
    {
      authority: authority?.authority,
      trustDomain,
      names: servingNames(values, env),
      files,
      clientRoots,
      clientAuthority: ownSigns ? external?.roots : undefined,
    },
    authorityLog,
  );
  const auditLog = log.child({ scope: "serverca" });
  closers.defer(() => tls.stop());
  return {
    authority: external?.issuer ?? (authority && issuerOf(authority)),
    events: joinEvents(
      certificateMetrics(meter, expiringAuthority(authority, external)),
      certificateAuditLog({
        info: (line, message) => auditLog.info(line, message),
        warn: (line, message) => auditLog.warn(line, message),
      }),
    ),
    limits,
    isFromFiles: files !== undefined,
    current: () => tls.current(),
    onChange: (listener) => tls.onChange(listener),
  };
}

function issuerOf({ authority }: RunningAuthority): LeafIssuer {
  if (authority instanceof CertificateAuthority) return authority;
  throw new Error("workload certificates have no issuer");
}
