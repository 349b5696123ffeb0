import {
  type Authenticator,
  type AuthorizeImpersonation,
  type CertificateAuthority,
  type CertificateEvents,
  certificateAuditLog,
  certificateMetrics,
  joinEvents,
  type KeptServingTls,
  nodeImpersonation,
  type ServingTls,
  type TrustBundle,
  trustBundleOf,
} from "@istiod/ca";
import { meshConfig, meshConfigKey } from "@istiod/config-schema";
import { nodePods } from "@istiod/service-discovery";
import { callerAuthenticators } from "../authentication/authenticators.js";
import { type RunningAuthority, startAuthority } from "../authority.js";
import { remoteReviews } from "../cluster/remote-clusters.js";
import { servingTls } from "../serving-tls.js";
import { type TlsLimits, tlsLimits } from "../tls-limits.js";
import { followTrustAnchors } from "../trust-anchors.js";
import { followTrustDomain } from "../trust-domain-change.js";
import { variables } from "../variables.js";
import type { Mesh } from "./mesh.js";
import type { Startup } from "./startup.js";

/** The certificate authority, the authenticators of callers, and the serving certificate. */
export interface Security {
  /** Absent: this istiod issues no certificates. */
  readonly authority: RunningAuthority | undefined;
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
  readonly authority: CertificateAuthority;
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
  const authority = await startAuthority(values, trustDomain, env, authorityLog, client);
  if (authority !== undefined) closers.defer(() => authority.stop());
  if (authority !== undefined && variables.multiRoot.read(env))
    closers.defer(followTrustAnchors(authority.authority, mesh, authorityLog));
  if (authority !== undefined) closers.defer(followTrustDomain(trustDomain, mesh, authorityLog));
  const { secureGRPCAddr, httpsAddr } = startup.settings.addresses;
  const hasWebhooks = httpsAddr !== undefined && client !== undefined;
  if (hasWebhooks && authority === undefined)
    log.warn(
      `--httpsAddr ${values.httpsAddr}: webhooks are not served, because there is no certificate authority: give --secureGRPCAddr, --caDir or ROOT_CA_DIR`,
    );
  const isServed = secureGRPCAddr !== undefined || (hasWebhooks && authority !== undefined);
  const tls = isServed ? await openTls(startup, authority, authorityLog) : undefined;
  const authorizeImpersonation = impersonation(startup, mesh);
  if (authority === undefined && client === undefined && !hasOtherIssuers(startup)) {
    const none = { authenticators: [], certificateAuthenticators: [] };
    return { authority, trustDomain, ...none, authorizeImpersonation, secure: undefined };
  }
  const bundles = (): readonly TrustBundle[] => {
    if (tls !== undefined) return tls.current().trustBundles;
    return authority === undefined ? [] : [trustBundleOf(trustDomain, authority.authority.bundle)];
  };
  const callers = { trustDomain, bundles, client, remoteReviews: remoteReviews(ingestion) };
  const authenticators = await callerAuthenticators(startup, callers, authorityLog);
  return {
    authority,
    trustDomain,
    authenticators: authenticators.callers,
    certificateAuthenticators: authenticators.certificateCallers,
    authorizeImpersonation,
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

async function openTls(
  { values, env, log, meter, closers }: Startup,
  authority: RunningAuthority | undefined,
  authorityLog: Startup["log"],
): Promise<SecureServing> {
  if (authority === undefined)
    throw new Error(
      '--secureGRPCAddr needs a certificate authority: give --caDir, plug one in by ROOT_CA_DIR, read a cluster, or disable it with --secureGRPCAddr ""',
    );
  const limits = tlsLimits(values, env);
  const tls = await servingTls(values, authority, authorityLog);
  const auditLog = log.child({ scope: "serverca" });
  closers.defer(() => tls.stop());
  return {
    authority: authority.authority,
    events: joinEvents(
      certificateMetrics(meter, authority.authority),
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
