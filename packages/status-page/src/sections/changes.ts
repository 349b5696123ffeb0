import { counted } from "../count.js";
import { html, type Html, link } from "../html.js";
import type { ChangeStatus, StatusModel } from "../model.js";
import { asJson, bounded, type Column, mark, section, someOf, table } from "../table.js";
import { duration, relativeTime } from "../time.js";

/** Renders the last changes with their outcome. */
export function changesSection({ at, changes, more }: StatusModel): Html {
  if (changes.length === 0)
    return section(
      "changes",
      "Last changes",
      undefined,
      html`<p class="empty">Nothing changed since this istiod started.</p>\n`,
    );
  const bound = { most: 10, href: more?.changes ?? asJson, one: "change" };
  const rows = (shown: readonly ChangeStatus[]): Html =>
    table({
      caption: "Last changes, newest first",
      columns: columns(at),
      rows: shown,
      isTrouble: ({ rejections }) => rejections > 0,
    });
  return section("changes", "Last changes", undefined, bounded(changes, bound, rows));
}

function columns(at: number): readonly Column<ChangeStatus>[] {
  return [
    { label: "Objects", cell: ({ objects, objectCount }) => someOf(objects, objectCount, 3) },
    { label: "When", cell: (change) => html`${relativeTime(change.at, at)}` },
    { label: "Revision", isNumber: true, cell: ({ revision, href }) => link(href, String(revision)) },
    { label: "Proxies", isNumber: true, cell: ({ proxies }) => proxies },
    { label: "Acknowledged", cell: acknowledged },
    {
      label: "Last ACK after",
      isNumber: true,
      cell: ({ lastAckMs }) => lastAckMs !== undefined && duration(lastAckMs),
    },
  ];
}

function acknowledged({ proxies, proxiesAcknowledged, rejections, pending }: ChangeStatus): Html {
  if (rejections > 0) return mark("error", `by ${proxiesAcknowledged} of ${proxies}, ${counted(rejections, "NACK")}`);
  if (proxies === 0) return pending === 0 ? mark("idle", "nothing to send") : mark("idle", "sending");
  if (proxiesAcknowledged === proxies) return mark("ok", "by all");
  return mark(pending > 0 ? "warning" : "idle", `by ${proxiesAcknowledged} of ${proxies}`);
}
