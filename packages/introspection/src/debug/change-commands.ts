import { type LiveAnalysis, sortMessages } from "@istiod/analysis";
import type { Problem } from "@istiod/config-schema";
import { type MeshClient, omittedParts, patchFindings, patchStatuses, providerFindings } from "@istiod/explain";
import {
  type ChangeLog,
  formatName,
  type ObjectName,
  type ObjectStatus,
  parseName,
  StatusCache,
  type StatusSources,
  type WrittenObject,
} from "@istiod/push-report";
import type { Proxy } from "@istiod/push-context";
import type { Connection } from "@istiod/xds-server";
import type { ProxyConnection } from "@istiod/replicas";
import type { UnreadVersion } from "../status/unread-versions.js";
import { type DebugAnswer, type DebugCommand, type DebugRequest, textAnswer } from "./command.js";
import { changedObjects, statusAnswer } from "./status-answer.js";

export interface ChangeCommandsOptions {
  readonly changes: ChangeLog;
  readonly status: Omit<StatusSources<Proxy>, "reasonWithoutEffect" | "awaitedGateway" | "writtenFor" | "reasonUnread">;
  /** True if istiod deploys the proxies of Gateways, which it does in a cluster. Default: false. */
  readonly deploysGateways?: boolean;
  /**
   * Returns why no running controller writes the Service of an InferencePool (`namespace/name`), as a clause; undefined
   * if one does. Default: one does.
   */
  readonly reasonUnwritten?: (pool: string) => string | undefined;
  /** Returns the connected proxies. */
  readonly clients: () => readonly MeshClient[];
  /** Returns the connections of proxies. */
  readonly proxies: () => readonly ProxyConnection[];
  readonly problems: () => readonly Problem[];
  readonly analysis: Pick<
    LiveAnalysis<Proxy>,
    "messages" | "findings" | "newFindings" | "place" | "reasonWithoutEffect" | "deployedGateways" | "writtenService"
  >;
  /** Reports whether a change is not committed yet. */
  readonly gathering: () => boolean;
  /** Returns the sources that have another version of an object than was read. */
  readonly unread: (name: ObjectName) => Promise<readonly UnreadVersion[]>;
  /** Returns why a source does not read objects of a kind; undefined if none says so. Default: none. */
  readonly reasonUnread?: (kind: string) => string | undefined;
}

/** Label of the workloads that istiod deploys for a Gateway. */
const gatewayLabel = "gateway.networking.k8s.io/gateway-name";

/** Returns the commands about changes, their pushes, and the proxies on which an object is live. */
export function changeCommands(options: ChangeCommandsOptions): readonly DebugCommand[] {
  const { changes, analysis } = options;
  return [
    {
      name: "changes",
      about: "Pushes of recent changes: affected proxies, bytes, time to acknowledgement; ?revision=",
      answer: ({ query }) => {
        const revision = query.get("revision");
        if (revision === null) return { json: changes.reports() };
        const report = changes.report(Number(revision));
        return report === undefined ? textAnswer(404, `no recent change with revision ${revision}`) : { json: report };
      },
    },
    {
      name: "analyze",
      about: "Findings about the configuration, as istiod analyze -o json prints them",
      answer: async () => {
        const clients = options.clients();
        const ofClients = [...patchFindings(options.status.database, clients), ...providerFindings(clients)];
        return { json: sortMessages([...(await analysis.messages()), ...(await analysis.place(ofClients))]) };
      },
    },
    statusCommand(options),
  ];
}

/** Returns the names in a parameter of a request, which may be given several times, with commas. */
function namesIn(query: URLSearchParams, parameter: string): readonly string[] {
  return query
    .getAll(parameter)
    .flatMap((names) => names.split(","))
    .filter((name) => name !== "");
}

const foreignService = "a Service of this name exists that is not of an InferencePool, and istiod leaves it alone";

function writtenFor(
  { analysis, reasonUnwritten = () => undefined }: Pick<ChangeCommandsOptions, "analysis" | "reasonUnwritten">,
  object: ObjectName,
): WrittenObject | undefined {
  const found = analysis.writtenService(object);
  if (found === undefined) return undefined;
  const { namespace, name, isCurrent, isForeign } = found;
  const reason = reasonUnwritten(`${object.namespace}/${object.name}`) ?? (isForeign ? foreignService : undefined);
  return {
    object: { kind: "Service", namespace, name },
    isCurrent,
    ...(reason !== undefined && { reasonUnwritten: reason }),
  };
}

function statusCommand({
  changes,
  status,
  clients,
  proxies,
  problems,
  analysis,
  gathering,
  unread,
  reasonUnread,
  deploysGateways = false,
  reasonUnwritten,
}: ChangeCommandsOptions): DebugCommand {
  const isConnected = (gateway: string): boolean =>
    clients().some(({ proxy }) => `${proxy.namespace}/${proxy.metadata.LABELS?.[gatewayLabel]}` === gateway);
  const sources: StatusSources<Proxy> = {
    ...status,
    reasonWithoutEffect: (of) => analysis.reasonWithoutEffect(of),
    writtenFor: (object) => writtenFor({ analysis, ...(reasonUnwritten && { reasonUnwritten }) }, object),
    ...(reasonUnread && { reasonUnread: ({ kind }) => reasonUnread(kind) }),
    ...(deploysGateways && {
      awaitedGateway: (object) => analysis.deployedGateways(object).find((gateway) => !isConnected(gateway)),
    }),
  };
  const statuses = new StatusCache(sources);
  const statusesWithout = async (
    names: readonly ObjectName[],
    ids: readonly string[],
  ): Promise<readonly ObjectStatus[]> => {
    if (ids.length === 0) return statuses.statusesOf(names);
    const connections = (): readonly Connection[] => status.connections().filter(({ id }) => !ids.includes(id));
    return new StatusCache({ ...sources, connections }).statusesOf(names);
  };
  const answer = async ({ query }: DebugRequest): Promise<DebugAnswer> => {
    const requested = namesIn(query, "object");
    let names: readonly ObjectName[];
    try {
      const also = namesIn(query, "also").map(parseName);
      names = requested.length > 0 ? requested.map(parseName) : [...changedObjects(changes), ...also];
    } catch (error) {
      return textAnswer(400, (error as Error).message);
    }
    const asked = query.get("latest") === "true" ? names : [];
    const unreadByName = new Map<string, readonly UnreadVersion[]>();
    for (const name of asked) unreadByName.set(formatName(name), await unread(name));
    // A version that was just read may be committed only after the statuses are computed.
    const wasGathering = gathering();
    const objects = await statusesWithout(names, query.getAll("without"));
    return {
      json: await statusAnswer({
        ...(query.get("connections") === "true" && { connections: proxies() }),
        revision: status.database.revision,
        gathering: wasGathering || gathering(),
        objects,
        unread: unreadByName,
        omitted: omittedParts(clients()),
        patches: patchStatuses(clients()),
        problems: problems(),
        analysis,
        isAboutAll: requested.length === 0,
      }),
    };
  };
  return {
    name: "status",
    about:
      "Number of affected proxies on which objects are live: ?object=KIND/NAMESPACE/NAME, or those that changed last; ?latest=true compares them with the API server",
    answer,
  };
}
