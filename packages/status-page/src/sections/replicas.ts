import { counted } from "../count.js";
import { html, type Html } from "../html.js";
import type { ReplicaStatus, StatusModel } from "../model.js";
import { mark, quoted, section, short, table } from "../table.js";
import { duration } from "../time.js";

/** Renders the replicas of the control plane with the number of their proxies. Empty for a single one. */
export function replicasSection({ at, replicas = [] }: StatusModel): Html {
  if (replicas.length < 2) return html``;
  const silent = replicas.filter(({ state }) => state === "no answer").length;
  const answering = `${replicas.length - silent} of ${counted(replicas.length, "replica")} ${replicas.length - silent === 1 ? "answers" : "answer"}`;
  return section(
    "replicas",
    "Replicas",
    silent === 0 ? counted(replicas.length, "replica") : answering,
    table({
      caption: "Replicas of the control plane",
      columns: [
        {
          label: "Replica",
          cell: ({ name, isSelf }) => html`${name}${isSelf && html` <span class="note">this page</span>`}`,
        },
        { label: "State", cell: stateOf },
        { label: "Version", cell: (replica) => (replica.state === "no answer" ? undefined : short(replica.version)) },
        {
          label: "Up",
          cell: (replica) => (replica.state === "no answer" ? undefined : short(duration(at - replica.startedAt))),
        },
        {
          label: "Proxies",
          cell: (replica) => (replica.state === "no answer" ? "unknown" : replica.proxies),
          isNumber: true,
        },
      ],
      rows: replicas,
      isTrouble: ({ state }) => state === "no answer",
    }),
  );
}

function stateOf(replica: ReplicaStatus): Html {
  if (replica.state !== "no answer") return mark(replica.state === "ready" ? "ok" : "idle", replica.state);
  return html`${mark("error", replica.state)}<p class="quote">${quoted(replica.reason)}</p>`;
}
