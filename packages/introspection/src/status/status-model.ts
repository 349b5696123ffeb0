import type { Message } from "@istiod/analysis";
import { allKinds, formatPath, formatSubject, type Problem } from "@istiod/config-schema";
import type { Database } from "@istiod/incremental";
import { type Proxy, unsupportedClient } from "@istiod/push-context";
import { type ChangeLog, type ChangeReport, formatName } from "@istiod/push-report";
import type { ChangeStatus, ProblemStatus, SourceStatus, StatusModel, TypeStatus } from "@istiod/status-page";
import { type Gathered, type PageProxy, proxyPageAddress, type ReplicaPage } from "@istiod/replicas";
import { xdsShortName } from "@istiod/resources";
import type { Connection, Subscription } from "@istiod/xds-server";
import { proxyConnections } from "../debug/proxies.js";

/** The sources of the status page. */
export interface StatusSources {
  readonly database: Database<Proxy>;
  readonly connections: () => readonly Connection[];
  readonly proxyOf: (connection: Connection) => Proxy;
  readonly changes: Pick<ChangeLog, "reports" | "report">;
  readonly problems: () => readonly Problem[];
  readonly sources: () => readonly SourceStatus[];
  readonly certificates: () => StatusModel["certificates"];
  readonly instance: Omit<StatusModel["instance"], "configRevision" | "waitingFor">;
  readonly waitingFor: () => readonly string[];
  /** The pages of all replicas. Absent if no others are known. */
  readonly replicas?: {
    /** ID of this one. */
    readonly id: string;
    readonly pages: () => Promise<Gathered<ReplicaPage>>;
  };
  /** Absent if the objects are not analyzed. */
  readonly findings?: () => Promise<readonly Message[]>;
}

/** The state of this istiod as the status page shows it. Addresses are relative to the page. */
export async function statusModel(
  from: StatusSources,
  links: Pick<StatusModel, "pages" | "documentation">,
): Promise<StatusModel> {
  const { database, changes, instance } = from;
  const findings = await from.findings?.();
  return {
    at: Date.now(),
    instance: { ...instance, configRevision: database.revision, waitingFor: from.waitingFor() },
    sources: from.sources(),
    proxies: proxyStatuses(from),
    changes: changes.reports().map(changeStatus),
    problems: from.problems().map(problemStatus),
    ...(findings && {
      findings: findings.map(({ origin = "", reference = "", code, level, message }) => ({
        code,
        level,
        origin,
        reference,
        message,
      })),
    }),
    certificates: from.certificates(),
    objects: allKinds.map(({ kind, group, collection }) => ({ kind, group, count: database.keys(collection).length })),
    ...links,
    more: { proxies: "./debug/syncz?pretty", changes: "./debug/changes?pretty" },
  };
}

function proxyStatuses({ connections, proxyOf, changes }: StatusSources): readonly PageProxy[] {
  const causesOf = memoizedCauses(changes);
  return proxyConnections(connections(), proxyOf).map((connection) =>
    statusOf(connection, proxyOf(connection), causesOf),
  );
}

/** Returns the state of one proxy. */
export function proxyStatus(
  connection: Connection,
  { proxyOf, changes }: Pick<StatusSources, "proxyOf" | "changes">,
): PageProxy {
  return statusOf(connection, proxyOf(connection), memoizedCauses(changes));
}

type CausesOf = (revision: number) => readonly string[];

function memoizedCauses(changes: StatusSources["changes"]): CausesOf {
  const causes = new Map<number, readonly string[]>();
  return (revision) => {
    const known = causes.get(revision) ?? changes.report(revision)?.objects.slice(0, 10).map(formatName) ?? [];
    causes.set(revision, known);
    return known;
  };
}

function statusOf(connection: Connection, proxy: Proxy, causesOf: CausesOf): PageProxy {
  const { id, type, nodeId, metadata } = proxy;
  const unsupported = unsupportedClient(proxy)?.reason;
  const types = connection.subscriptions.map((subscription) => typeStatus(subscription, causesOf));
  const version = metadata.ISTIO_VERSION ?? envoyVersion(connection);
  return {
    id: connection.id,
    node: nodeId,
    cluster: metadata.CLUSTER_ID ?? "",
    name: id,
    kind: type,
    version,
    connectedAt: connection.connectedAt,
    pushPending: connection.pendingRevision !== undefined,
    types,
    ...(unsupported !== undefined && { unsupported }),
    href: proxyPageAddress(nodeId),
  };
}

/** A type is rejected while the proxy rejects a resource, and stale while others are sent again. */
function typeStatus(
  { typeUrl, nonceSent, nonceAcked, sentAt, lastError, unaccepted, unremoved }: Subscription,
  causesOf: (revision: number) => readonly string[],
): TypeStatus {
  const of = { type: shortName(typeUrl), ...(sentAt !== undefined && { sentAt }) };
  const rejected = unaccepted.filter(({ state }) => state === "rejected");
  const isUndecided = unaccepted.length + unremoved.length > 0;
  if (lastError !== undefined && (rejected.length > 0 || !isUndecided)) {
    const { message, at, revision } = lastError;
    const reason = rejected[0]?.rejection?.reason ?? message;
    const resources = rejected.map(({ name }) => name);
    const causes = revision === undefined ? [] : causesOf(revision);
    return { ...of, state: "rejected", rejection: { reason, resources, at, causes } };
  }
  if (nonceSent === "") return { ...of, state: "not sent" };
  return { ...of, state: nonceSent === nonceAcked && !isUndecided ? "synced" : "stale" };
}

/** As in `CDS`; of types without a short name, the last part of the URL. */
function shortName(typeUrl: string): string {
  const name = xdsShortName(typeUrl);
  return name === typeUrl
    ? typeUrl.slice(Math.max(typeUrl.lastIndexOf("/"), typeUrl.lastIndexOf(".")) + 1)
    : name.toUpperCase();
}

/** The version of an Envoy that is not Istio's. */
function envoyVersion({ node: { userAgentVersionType } }: Connection): string {
  const version =
    userAgentVersionType.case === "userAgentBuildVersion" ? userAgentVersionType.value.version : undefined;
  return version === undefined ? "" : `Envoy ${version.majorNumber}.${version.minorNumber}.${version.patch}`;
}

function changeStatus({
  revision,
  at,
  objects,
  objectCount,
  proxies,
  proxiesAcknowledged,
  nackCount,
  pending,
  lastAckMs,
}: ChangeReport): ChangeStatus {
  const counts = {
    proxies,
    proxiesAcknowledged,
    rejections: nackCount,
    pending,
    ...(lastAckMs !== undefined && { lastAckMs }),
  };
  return {
    revision,
    at,
    objects: objects.map(formatName),
    objectCount,
    ...counts,
    href: `./debug/changes?revision=${revision}&pretty`,
  };
}

function problemStatus({ severity, file, line, subject, path, message }: Problem): ProblemStatus {
  return { severity, file, line, object: subject ? formatSubject(subject) : "", field: formatPath(path), message };
}
