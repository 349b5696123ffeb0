import type { Database } from "@istiod/incremental";
import { modeOfPort, type MutualTlsMode, type Proxy } from "@istiod/push-context";
import { isHttp, isUndeclared } from "@istiod/service-discovery";
import { type Caller, findCaller } from "./caller.js";
import { type Destination, findDestinations } from "./destination.js";
import type { Access } from "./evaluation/access.js";
import { evaluatePolicies, type PolicyDecision, type PolicyVerdict } from "./evaluation/policies.js";
import { identityNotes, skippedProviderNotes, waypointNotes } from "./notes.js";
import { type Question, parseFilterMetadata } from "./question.js";
import { type ReceivedRequest, receivedRequest, remoteAddress } from "./request/received-request.js";
import { bearerToken, isPreflight } from "./request/received-token.js";
import { type TokenVerdict, verifyToken } from "./request/token.js";
import { type OtherPolicy, otherPolicies, type WorkloadPolicies, workloadPolicies } from "./workload-policies.js";

/** The mutual TLS of a connection. */
export interface MutualTlsVerdict {
  /** Effective mode of the port; undefined at gateways, whose servers have TLS settings of their own. */
  readonly mode?: MutualTlsMode;
  readonly connection: "mutual TLS" | "plaintext";
  readonly accepted: boolean;
  readonly reason: string;
}

/** The decision on a connection or request. */
export type Decision =
  | {
      readonly outcome: "deny";
      readonly stage: "mutual TLS" | "path" | "token";
      readonly status?: number;
      readonly reason: string;
    }
  | (PolicyDecision & { readonly stage: "policies"; readonly status?: number });

/** The answer for one workload. */
export interface Check {
  readonly to: {
    readonly workload: string;
    readonly proxy: string;
    readonly address: string;
    readonly port: number;
    readonly protocol: "HTTP" | "TCP";
    readonly service?: { readonly hostname: string; readonly port: number };
  };
  readonly from: Caller;
  readonly mutualTls: MutualTlsVerdict;
  readonly request?: ReceivedRequest;
  readonly token: TokenVerdict;
  readonly decision: Decision;
  /** In evaluation order. */
  readonly policies: readonly PolicyVerdict[];
  /** The decision of the policies if dry runs were enforced; undefined if none applies or policies do not decide. */
  readonly withDryRuns?: PolicyDecision;
  readonly notApplying: readonly OtherPolicy[];
  /** Facts that a reader may overlook, such as flags without effect. */
  readonly notes: readonly string[];
}

export interface CheckOptions {
  /** Milliseconds since the epoch, for the validity of tokens. Default: the clock. */
  readonly now?: number;
}

/**
 * Decides a connection or request as the proxies of its destination would, one answer for each workload.
 *
 * @throws AuthorizationQuestionError if the question names what does not exist.
 */
export async function check(
  database: Database<Proxy>,
  question: Question,
  { now = Date.now() }: CheckOptions = {},
): Promise<readonly Check[]> {
  const destinations = findDestinations(database, question.to);
  return Promise.all(destinations.map((destination) => checkOne(database, question, destination, now)));
}

async function checkOne(
  database: Database<Proxy>,
  question: Question,
  destination: Destination,
  now: number,
): Promise<Check> {
  const { proxy } = destination;
  const workload = policiesOf(database, proxy);
  const caller = findCaller(database, question.from, workload.trustDomains[0] ?? "cluster.local");
  const mutualTls = mutualTlsOf(destination, workload, caller);
  const notes: string[] = [];
  const isWeb = isHttpAccess(destination, question, notes);
  const received = isWeb ? receivedRequest(question, destination, workload.normalization) : undefined;
  const token = isWeb ? await tokenOf(question, workload, received, now) : ({ state: "none" } as const);
  const access = accessOf({ question, destination, workload, caller, mutualTls, received, token });
  const providerNamed = (name: string) => workload.providers.find((provider) => provider.name === name);
  const evaluated = evaluatePolicies(workload.policies, access, {
    trustDomains: workload.trustDomains,
    provider: (name, tcp) => providerNamed(name)?.[tcp ? "tcp" : "http"] ?? "denies",
    problem: (name) => providerNamed(name)?.problem,
  });
  const { policies } = evaluated;
  const decision = decide(mutualTls, received, token, evaluated.decision);
  if (token.state === "unverified" || token.state === "ignored") notes.push(`the token: ${token.reason}`);
  notes.push(
    ...identityNotes(mutualTls.mode, workload.policies),
    ...(isWeb ? [] : skippedProviderNotes(policies, workload.providers)),
    ...waypointNotes(database, destination),
  );
  return {
    to: {
      workload: destination.workload,
      proxy: proxy.nodeId,
      address: destination.address,
      port: destination.port,
      protocol: isWeb ? "HTTP" : "TCP",
      ...(destination.service && { service: destination.service }),
    },
    from: caller,
    mutualTls,
    ...(received && { request: received }),
    token,
    decision,
    policies,
    ...(decision.stage === "policies" && evaluated.withDryRuns !== undefined && { withDryRuns: evaluated.withDryRuns }),
    notApplying: otherPolicies(database, proxy, workload),
    notes,
  };
}

function policiesOf(database: Database<Proxy>, proxy: Proxy): WorkloadPolicies {
  const view = database.view(proxy);
  try {
    return view.call(workloadPolicies);
  } finally {
    view.release();
  }
}

function mutualTlsOf({ proxy, port }: Destination, { peerModes }: WorkloadPolicies, caller: Caller): MutualTlsVerdict {
  const hasCertificate = caller.principal !== undefined;
  if (proxy.type !== "sidecar")
    return {
      connection: hasCertificate ? "mutual TLS" : "plaintext",
      accepted: true,
      reason: "the TLS settings of the gateway's servers decide, not PeerAuthentications",
    };
  const found = modeOfPort(peerModes, port);
  const mode = found === "UNKNOWN" ? "PERMISSIVE" : found;
  if (mode === "DISABLE") {
    const reason = hasCertificate
      ? "the port has no mutual TLS, so the caller's identity is not known"
      : "the port has no mutual TLS, so plaintext is accepted";
    return { mode, connection: "plaintext", accepted: true, reason };
  }
  if (hasCertificate) return { mode, connection: "mutual TLS", accepted: true, reason: "the caller has a certificate" };
  return mode === "STRICT"
    ? { mode, connection: "plaintext", accepted: false, reason: "STRICT accepts mutual TLS only" }
    : { mode, connection: "plaintext", accepted: true, reason: "PERMISSIVE accepts plaintext, without a principal" };
}

/** Reports whether the proxy sees HTTP: by the port's protocol, or as it would detect it. */
function isHttpAccess({ protocol, port }: Destination, question: Question, notes: string[]): boolean {
  const { method, path, host, jwt, headers = [] } = question;
  const isAsked = [method, path, host, jwt].some((value) => value !== undefined) || headers.length > 0;
  if (isHttp(protocol) || (isUndeclared(protocol) && isAsked)) return true;
  if (isAsked)
    notes.push(`port ${port} has the protocol ${protocol}: the proxy sees no method, path, headers or token`);
  return false;
}

async function tokenOf(
  question: Question,
  { jwtRules, rejectsAll }: WorkloadPolicies,
  received: ReceivedRequest | undefined,
  now: number,
): Promise<TokenVerdict> {
  if (rejectsAll !== undefined)
    return {
      state: "invalid",
      status: 401,
      reason: `${rejectsAll}, so all requests are rejected`,
    };
  if (received !== undefined && isPreflight(received)) return { state: "none" };
  return verifyToken(question.jwt ?? bearerToken(received, jwtRules), jwtRules, now);
}

interface AccessParts {
  readonly question: Question;
  readonly destination: Destination;
  readonly workload: WorkloadPolicies;
  readonly caller: Caller;
  readonly mutualTls: MutualTlsVerdict;
  readonly received: ReceivedRequest | undefined;
  readonly token: TokenVerdict;
}

function accessOf({ question, destination, workload, caller, mutualTls, received, token }: AccessParts): Access {
  const isMutual = mutualTls.connection === "mutual TLS";
  const sourceIp = question.sourceIp ?? caller.address ?? "";
  const { service } = destination;
  return {
    principal: isMutual ? caller.principal : undefined,
    tunnel: false,
    sourceIp,
    remoteIp:
      question.remoteIp ??
      remoteAddress(received, sourceIp, destination.proxy.type === "sidecar", workload.trustedHops),
    destinationIp: destination.address,
    destinationPort: destination.port,
    sni: question.sni ?? (isMutual && service !== undefined ? `outbound_.${service.port}_._.${service.hostname}` : ""),
    http: received && {
      method: received.method,
      path: received.normalizedPath ?? received.path,
      authority: received.authority,
      headers: received.headers,
    },
    claims: token.state === "valid" || token.state === "unverified" ? token.claims : undefined,
    filterMetadata: parseFilterMetadata(question.filterMetadata ?? []),
  };
}

function decide(
  mutualTls: MutualTlsVerdict,
  received: ReceivedRequest | undefined,
  token: TokenVerdict,
  policies: PolicyDecision,
): Decision {
  if (!mutualTls.accepted) return { outcome: "deny", stage: "mutual TLS", reason: mutualTls.reason };
  if (received?.rejected !== undefined)
    return { outcome: "deny", stage: "path", status: received.rejectedStatus ?? 400, reason: received.rejected };
  if (token.state === "invalid") {
    const refused = { outcome: "deny", reason: token.reason } as const;
    if (policies.outcome === "external")
      return { ...policies, then: afterProviders(policies, refused), stage: "policies" };
    if (!isBadProvider(policies)) return { ...refused, stage: "token", status: token.status };
  }
  const denied = policies.outcome === "deny" && received !== undefined ? { status: 403 } : {};
  return { ...policies, stage: "policies", ...denied };
}

/** Returns the decision after all external providers have allowed, with another one in place of the policies'. */
function afterProviders(policies: PolicyDecision, other: PolicyDecision): PolicyDecision {
  if (policies.outcome === "external") return afterProviders(policies.then, other);
  return isBadProvider(policies) ? policies : other;
}

/** CUSTOM policies are evaluated before the token. */
function isBadProvider(policies: PolicyDecision): boolean {
  return policies.outcome === "deny" && policies.by?.action === "CUSTOM";
}
