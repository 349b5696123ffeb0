import { readDiscovered, type SidecarObject, sidecars } from "@istiod/config-schema";
import { type Database, query, type View } from "@istiod/incremental";
import { type Proxy, scopeOf } from "@istiod/push-context";
import type { Maker } from "../maker.js";
import { objectsRead } from "../made-from.js";
import { type Loss, loss, named } from "./loss.js";
import { selectsClient } from "./selects-client.js";

/** Sidecars that were looked through and do not apply to the client: at most one does. */
export function losingSidecars(database: Database<Proxy>, view: View<Proxy>, { reads }: Maker): readonly Loss[] {
  const candidates = objectsRead(reads).filter(({ kind, read }) => kind === "Sidecar" && read === "candidate");
  if (candidates.length === 0) return [];
  const winner = view.call(chosen);
  return candidates.flatMap(({ key }) => {
    const sidecar = readDiscovered(database, sidecars, key);
    return sidecar === undefined || key === winner || !concerns(view, sidecar)
      ? []
      : [
          loss(
            "Sidecar",
            key,
            whyNot(view, sidecar, winner),
            winner === undefined ? {} : { winner: named("Sidecar", winner) },
          ),
        ];
  });
}

/** Whether a Sidecar means the client at all. */
function concerns(view: View<Proxy>, { namespace, spec }: SidecarObject): boolean {
  return namespace !== view.client.namespace || view.call(selectsClient, { ...spec.workloadSelector?.labels });
}

function whyNot(view: View<Proxy>, { namespace, spec }: SidecarObject, winner: string | undefined): string {
  const own = namespace === view.client.namespace;
  if (!own && spec.workloadSelector !== undefined)
    return "selects workloads, and so applies to workloads of its own namespace only";
  if (winner === undefined) return "does not apply to the client";
  if (!own || namespace !== winner.slice(0, winner.indexOf("/")))
    return `gives way to Sidecar ${winner} of the client's own namespace`;
  return `gives way to Sidecar ${winner}: one with a workloadSelector comes first, then the oldest`;
}

const chosen = query("explain.sidecar", (q): string | undefined => scopeOf(q).sidecar);
