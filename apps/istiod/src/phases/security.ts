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
import { remoteReviews } from "../cluster/remote-clusters.js";
import { type ExternalAuthority, openExternalAuthority, openSignerAuthority } from "../external-authority.js";
import { openSpiffeBundles, type SpiffeBundles } from "../jwks/spiffe-bundles.js";
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
}

/** Prerequisites of serving over TLS. */
export interface SecureServing {
  /** Issues the certificates of workloads. */
  readonly authority: LeafIssuer;
  readonly events: CertificateEvents;
  readonly limits: TlsLimits;
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
  const { secureGRPCAddr, httpsAddr } = startup.settings.addresses;
  const hasWebhooks = httpsAddr !== undefined && client !== undefined;
  if (hasWebhooks && authority === undefined)
    log.warn(
      `--httpsAddr ${values.httpsAddr}: webhooks are not served, because there is no certificate authority: give --secureGRPCAddr, --caDir or ROOT_CA_DIR`,
    );
  checkTlsFlags(values);
  const isServed = secureGRPCAddr !== undefined || (hasWebhooks && authority !== undefined);
  const tls = isServed ? await openTls(startup, { authority, external }, authorityLog) : undefined;
  const authorizeImpersonation = impersonation(startup, mesh);
  const opened = { authority, external, bundles, trustDomain, authorizeImpersonation };
  if (authority === undefined && client === undefined && !hasOtherIssuers(startup))
    return { ...opened, authenticators: [], certificateAuthenticators: [], secure: undefined };
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
  { authority }: RunningAuthority,
  external: ExternalAuthority | undefined,
): ExpiringAuthority {
  if (external === undefined) return authority;
  const { roots } = external;
  return {
    expiry: () => ({
      root: roots === undefined ? authority.expiry().root : Date.parse(roots.bundle.roots[0]?.validTo ?? ""),
    }),
  };
}

async function openTls(
  { values, env, log, meter, closers }: Startup,
  { authority, external }: Pick<Security, "authority" | "external">,
  authorityLog: Startup["log"],
): Promise<SecureServing> {
  if (authority === undefined)
    throw new Error(
      '--secureGRPCAddr needs a certificate authority: give --caDir, plug one in by ROOT_CA_DIR, read a cluster, or disable it with --secureGRPCAddr ""',
    );
  const limits = tlsLimits(values, env);
  const ownSigns = authority.authority instanceof CertificateAuthority;
  const tls = await servingTls(values, authority, authorityLog, ownSigns ? external?.roots : undefined);
  const auditLog = log.child({ scope: "serverca" });
  closers.defer(() => tls.stop());
  return {
    authority: external?.issuer ?? issuerOf(authority),
    events: joinEvents(
      certificateMetrics(meter, expiringAuthority(authority, external)),
      certificateAuditLog({
        info: (line, message) => auditLog.info(line, message),
        warn: (line, message) => auditLog.warn(line, message),
      }),
    ),
    limits,
    current: () => tls.current(),
    onChange: (listener) => tls.onChange(listener),
  };
}

function issuerOf({ authority }: RunningAuthority): LeafIssuer {
  if (authority instanceof CertificateAuthority) return authority;
  throw new Error("workload certificates have no issuer");
}
