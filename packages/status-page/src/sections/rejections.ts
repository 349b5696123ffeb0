import type { RejectionGroup } from "../rejection-groups.js";
import type { Html } from "../html.js";
import { html } from "../html.js";
import { asJson, bounded, quoted, section, someOf } from "../table.js";
import { relativeTime } from "../time.js";
import { counted } from "../count.js";

/** Renders NACKs with Envoy's message, grouped by type and message. */
export function rejectionsSection(groups: readonly RejectionGroup[], at: number): Html {
  if (groups.length === 0) return html``;
  const total = groups.reduce((sum, { proxies }) => sum + proxies.length, 0);
  const bound = { most: 10, href: asJson, one: "rejection" };
  return section(
    "rejections",
    "NACKs",
    `${counted(total, "rejected response")}: the last accepted configuration stays active`,
    bounded(groups, bound, (shown) => html`<ol class="faults">\n${shown.map((group) => entry(group, at))}</ol>\n`),
  );
}

function entry({ type, reason, resources, causes, proxies, at: last }: RejectionGroup, at: number): Html {
  return html`<li class="error">
<p><strong>${type}</strong> rejected by ${counted(proxies.length, "proxy", "proxies")}: ${someOf(proxies, proxies.length, 5)} <span class="note">${relativeTime(last, at)}</span></p>
<p class="quote">${quoted(reason)}</p>
${resources.length > 0 && html`<p class="note">${resources.length === 1 ? "Resource" : "Resources"}: ${someOf(resources, resources.length, 5)}</p>\n`}${causes.length > 0 && html`<p class="note">After a change of ${someOf(causes, causes.length, 5)}</p>\n`}</li>
`;
}
