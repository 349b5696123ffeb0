import type { ProxyStatus, ReplicaStatus, StatusModel } from "@istiod/status-page";
import { joinConnections } from "./connected-proxies.js";
import type { Gathered } from "./gathered.js";
import { isRecord, ReplicaError } from "./replica.js";

/** A proxy of a page, with its identity across replicas. */
export interface PageProxy extends ProxyStatus {
  readonly node: string;
  readonly cluster: string;
}

/** The parts of a replica's page that describe its proxies and what it has read. */
export interface ReplicaPage extends Pick<StatusModel, "instance" | "problems" | "findings" | "changes" | "sources"> {
  readonly proxies: readonly PageProxy[];
}

/** Decodes the answer to the command `page`. @throws ReplicaError `malformed` */
export function decodePage(answer: unknown): ReplicaPage {
  const isProxy = (value: unknown): boolean =>
    isRecord(value) &&
    ["id", "node", "cluster", "name", "kind", "version"].every((field) => typeof value[field] === "string") &&
    typeof value["connectedAt"] === "number" &&
    Array.isArray(value["types"]);
  const isPage =
    isRecord(answer) &&
    isRecord(answer["instance"]) &&
    Array.isArray(answer["instance"]["waitingFor"]) &&
    ["problems", "changes", "sources", "proxies"].every((field) => Array.isArray(answer[field])) &&
    (answer["findings"] === undefined || Array.isArray(answer["findings"])) &&
    (answer["proxies"] as readonly unknown[]).every(isProxy);
  if (!isPage) throw new ReplicaError("malformed", "its page has another form");
  return answer as unknown as ReplicaPage;
}

/**
 * Joins the pages of all replicas into that of one of them: the proxies of all, each once, with the replica that they
 * are connected to, and problems, findings and stale sources of all. The changes, certificates and objects stay those
 * of the one.
 *
 * @param own the page of the replica that is asked
 * @param id its ID
 */
export function joinPages(own: StatusModel, id: string, gathered: Gathered<ReplicaPage>): StatusModel {
  const { answers, failures, silent } = gathered;
  const names = new Map(answers.map(({ instance }) => [instance.id, instance.name]));
  const { latest } = joinConnections(gathered, ({ proxies }) => proxies);
  const others = answers.filter(({ instance }) => instance.id !== id);
  const replicas = [
    ...answers.map(({ instance, answer }): ReplicaStatus => ({
      name: instance.name,
      version: instance.version,
      startedAt: instance.startedAt,
      proxies: latest.filter(({ replica }) => replica === instance.id).length,
      state: answer.instance.waitingFor.length === 0 ? "ready" : "starting",
      isSelf: instance.id === id,
    })),
    ...[...silent, ...failures.map(({ instance, error }) => ({ name: instance.name, reason: error.trim() }))].map(
      (each): ReplicaStatus => ({ ...each, state: "no answer", isSelf: false }),
    ),
  ];
  const findings = distinct([own, ...others.map(({ answer }) => answer)].flatMap((page) => page.findings ?? []));
  return {
    ...own,
    replicas,
    proxies: latest.map(({ replica, proxy }) => ({
      ...proxy,
      // Another replica's own links are not trusted.
      href: proxyPageAddress(proxy.node),
      replica: names.get(replica) ?? "",
    })),
    problems: distinct([...own.problems, ...others.flatMap(({ answer }) => answer.problems)]),
    ...(own.findings && { findings }),
    sources: [
      ...own.sources,
      ...others.flatMap(({ instance, answer }) =>
        answer.sources
          .filter(({ state }) => state === "stale")
          .map((source) => ({ ...source, name: `${source.name} of ${instance.name}` })),
      ),
    ],
  };
}

/** Returns the address of the page of a proxy, relative to the status page. */
export function proxyPageAddress(node: string): string {
  return `./debug/proxy?${new URLSearchParams({ proxyID: node }).toString()}`;
}

function distinct<T>(list: readonly T[]): readonly T[] {
  return [...new Map(list.map((each) => [JSON.stringify(each), each])).values()];
}
