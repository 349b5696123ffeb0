import type { Assessment } from "../assessment.js";
import { counted } from "../count.js";
import { html, type Html, type HtmlValue, link } from "../html.js";
import type { StatusModel, TypeStatus } from "../model.js";
import type { AssessedProxy, ProxyCounts } from "../proxy-state.js";
import { asJson, bounded, type Column, type Level, mark, quoted, section, short, table } from "../table.js";
import { duration, relativeTime } from "../time.js";

/** Not in a template, where bundlers cannot escape it: V8 would keep the source with two bytes a character. */
const dash = "–";

const most = 25;
const columnTypes = ["CDS", "LDS", "EDS", "RDS"];

/** Renders the proxies with the state of each type. */
export function proxiesSection({ at, more, replicas = [] }: StatusModel, { proxies, proxyCounts }: Assessment): Html {
  const bound = { most, href: more?.proxies ?? asJson, one: "proxy", many: "proxies" };
  const content = bounded(proxies, bound, (shown) =>
    table({
      caption: "Connected proxies, trouble first",
      columns: proxyColumns(shown, at, replicas.length > 1),
      rows: shown,
      isTrouble: ({ state }) => state === "rejected",
    }),
  );
  return section(
    "proxies",
    "Proxies",
    proxies.length > 0 && summary(proxyCounts),
    proxies.length > 0
      ? content
      : html`<p class="empty">No proxy is connected to ${replicas.length > 1 ? "the replicas that answer" : "this istiod"}.</p>\n`,
  );
}

function summary({ total, synced, rejected, unsupported, stale, pending, notSent, versions }: ProxyCounts): string {
  const states = [
    `${synced} synced`,
    ...Object.entries({
      rejecting: rejected,
      "not supported": unsupported,
      stale,
      "with a push pending": pending,
      "not sent all": notSent,
    })
      .filter(([, count]) => count > 0)
      .map(([state, count]) => `${count} ${state}`),
  ];
  const named = Object.entries(versions);
  const [first = "", count = 0] = named[0] ?? [];
  const skew =
    named.length === 1
      ? first || "of unknown version"
      : named
          .slice(0, 4)
          .map(([version, of]) => `${of} × ${version || "unknown version"}`)
          .join(", ");
  return `${counted(total, "proxy", "proxies")}${count === 0 ? "" : ` (${skew})`}: ${states.join(", ")}`;
}

/** Returns the columns of a table of proxies. */
export function proxyColumns(
  shown: readonly AssessedProxy[],
  at: number,
  hasReplicas: boolean,
): readonly Column<AssessedProxy>[] {
  const others = shown.some(({ types }) => types.some(({ type }) => !columnTypes.includes(type)));
  const details = shown.some((proxy) => detail(proxy, at) !== undefined);
  return [
    { label: "Proxy", cell: ({ href, name }) => link(href, name) },
    { label: "Type", cell: ({ kind }) => short(kind) },
    { label: "Version", cell: ({ version }) => short(version) },
    ...(hasReplicas ? [{ label: "Replica", cell: ({ replica = "" }: AssessedProxy) => short(replica) }] : []),
    { label: "Connected", cell: ({ connectedAt }) => short(duration(at - connectedAt)) },
    ...columnTypes.map((type): Column<AssessedProxy> => ({
      label: type,
      cell: ({ types }) =>
        stateOf(
          types.find((each) => each.type === type),
          at,
        ),
    })),
    ...(others ? [{ label: "Other", cell: ({ types }: AssessedProxy) => otherTypes(types, at) }] : []),
    ...(details ? [{ label: "Detail", cell: (proxy: AssessedProxy) => detail(proxy, at) }] : []),
  ];
}

const levels: Readonly<Record<TypeStatus["state"], Level>> = {
  synced: "ok",
  stale: "warning",
  rejected: "error",
  "not sent": "idle",
};

function stateOf(type: TypeStatus | undefined, at: number): Html {
  if (type === undefined)
    return html`<span class="unsubscribed"><span aria-hidden="true">${dash}</span><span class="hidden">not subscribed</span></span>`;
  const text = type.state === "rejected" ? "NACK" : type.state;
  return mark(
    levels[type.state],
    short(
      type.state === "stale" && type.sentAt !== undefined ? `stale ${duration(Math.max(0, at - type.sentAt))}` : text,
    ),
  );
}

function otherTypes(types: readonly TypeStatus[], at: number): HtmlValue {
  return types
    .filter(({ type }) => !columnTypes.includes(type))
    .map((type) => html`<span class="other">${type.type} ${stateOf(type, at)}</span> `);
}

/** Renders the error message of a rejection, or the outstanding ACK. */
function detail({ types, unsupported, pushPending, unacknowledgedSince }: AssessedProxy, at: number): Html | undefined {
  const rejected = types.flatMap(({ type, rejection }) =>
    rejection === undefined ? [] : [html`<p class="quote"><strong>${type}</strong> ${quoted(rejection.reason)}</p>`],
  );
  if (rejected.length > 0) return html`${rejected}`;
  if (unsupported !== undefined) return mark("warning", unsupported);
  if (unacknowledgedSince !== undefined) return html`sent ${relativeTime(unacknowledgedSince, at)}, not acknowledged`;
  return pushPending ? html`push pending` : undefined;
}
