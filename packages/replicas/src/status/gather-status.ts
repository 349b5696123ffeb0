import { formatName } from "@istiod/push-report";
import { joinConnections, unservedClients } from "../connected-proxies.js";
import type { Ask } from "../control-plane.js";
import { decodeAnswers, type Gathered, joinGathered } from "../gathered.js";
import { type ControlPlaneStatus, joinStatus } from "./join-status.js";
import { decodeStatus, type StatusAnswer } from "./status-answer.js";

export interface GatherStatusOptions {
  /** Names of objects as `KIND/NAMESPACE/NAME`. Empty: those that changed last on each replica. */
  readonly objects: readonly string[];
  /** Compares what was read of the objects with the API server. Default: false. */
  readonly latest?: boolean;
}

/**
 * Asks all replicas for the statuses of objects. Where a proxy has connected to several, only its latest connection
 * counts: the others are asked again without it, and a replica that does not name an object for that object.
 */
export async function gatherStatus(
  ask: Ask,
  { objects, latest = false }: GatherStatusOptions,
): Promise<ControlPlaneStatus> {
  const parameters = new URLSearchParams(objects.map((name): [string, string] => ["object", name]));
  parameters.set("connections", "true");
  if (latest) parameters.set("latest", "true");
  const first = decodeAnswers(await ask("status", parameters), decodeStatus);
  const { latest: current, superseded } = joinConnections(first, ({ connections = [] }) => connections);
  const again = await Promise.all(
    first.answers.map(async ({ instance: { id }, answer }): Promise<Gathered<StatusAnswer> | undefined> => {
      const details = new URLSearchParams(parameters);
      for (const connection of superseded.get(id) ?? []) details.append("without", connection);
      // A replica that has started since, or has not read a change yet, does not name the object.
      for (const name of namesLacking(answer, first)) details.append("also", name);
      if (details.size === parameters.size) return undefined;
      return decodeAnswers(await ask("status", details, { only: id }), decodeStatus);
    }),
  );
  const kept = first.answers.filter((_, i) => again[i] === undefined);
  const all = joinGathered([{ ...first, answers: kept }, ...again.flatMap((each) => each ?? [])]);
  return joinStatus(all, unservedClients(current));
}

/** Returns the names of objects that other replicas have a status of. */
function namesLacking({ objects }: StatusAnswer, { answers }: Gathered<StatusAnswer>): readonly string[] {
  const own = new Set(objects.map(({ object }) => formatName(object)));
  const all = answers.flatMap(({ answer }) => answer.objects.map(({ object }) => formatName(object)));
  return [...new Set(all)].filter((name) => !own.has(name));
}
