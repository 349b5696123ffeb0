import type { Assessment } from "../assessment.js";
import { counted } from "../count.js";
import { html, type Html, type HtmlValue } from "../html.js";
import type { StatusModel } from "../model.js";
import { type Level, mark } from "../table.js";
import { duration, isoTime, relativeTime } from "../time.js";

/** Summarizes the state in one sentence. */
export function headline({ proxyCounts, attention, state }: Assessment): string {
  if (state !== "ok") return `${counted(attention.length, "thing needs", "things need")} attention`;
  const { total, synced } = proxyCounts;
  if (total === 0) return "Ready, no proxies connected";
  return synced === total
    ? `${total === 1 ? "The proxy is" : `All ${total.toLocaleString("en-US")} proxies are`} in sync`
    : `${synced} of ${counted(total, "proxy", "proxies")} in sync`;
}

/** Renders the instance, its state, and the conditions that need attention. */
export function overview(model: StatusModel, assessment: Assessment): Html {
  const { instance, at } = model;
  const { name, version, revision, cluster, namespace, startedAt, configRevision, waitingFor } = instance;
  const facts: readonly (readonly [string, HtmlValue])[] = [
    ["Version", version],
    ["Revision", revision],
    ["Cluster", cluster],
    ["Namespace", namespace],
    ["Instance", name],
    [
      "Up",
      html`<time datetime="${isoTime(startedAt)}" title="since ${isoTime(startedAt)}">${duration(at - startedAt)}</time>`,
    ],
    ["Configuration", html`revision ${configRevision}`],
    ["State", waitingFor.length === 0 ? mark("ok", "ready") : mark("error", `waiting for ${waitingFor.join(", ")}`)],
  ];
  const attention = assessment.attention.map(
    ({ level, text, section }) => html`<li><a class="mark ${level}" href="#${section}">${text}</a></li>\n`,
  );
  return html`<section id="instance" class="overview ${assessment.state}" aria-labelledby="instance-title">
<h2 id="instance-title">${headline(assessment)}</h2>
${attention.length > 0 && html`<ul class="attention">\n${attention}</ul>\n`}<dl class="facts">
${facts.map(([label, value]) => html`<div><dt>${label}</dt><dd>${value}</dd></div>\n`)}</dl>
</section>
${tiles(model, assessment)}`;
}

/** Renders the key figures, each with a link to its section. */
function tiles({ at, changes, sources }: StatusModel, assessment: Assessment): Html {
  const { proxyCounts, rejections, problems, findings, certificates, proxies } = assessment;
  const [last] = changes;
  const late = certificates.find(({ isLate }) => isLate);
  const current = sources.filter(({ state }) => state !== "stale").length;
  const worst = problems[0]?.severity ?? "ok";
  const finding = findings?.[0]?.level;
  const nacks = rejections.reduce((sum, group) => sum + group.proxies.length, 0);
  return html`<nav class="tiles" aria-label="Summary">
${tile("Proxies in sync", `${proxyCounts.synced} / ${proxyCounts.total}`, proxyCounts.rejected > 0 ? "error" : proxies.length > proxyCounts.synced ? "idle" : "ok", "proxies")}
${tile("NACKs", nacks, nacks > 0 ? "error" : "ok", rejections.length > 0 && "rejections")}
${tile("Problems", problems.length, worst, problems.length > 0 && "problems")}
${findings !== undefined && tile("Findings", findings.length, finding === "Error" ? "error" : finding === "Warning" ? "warning" : "ok", findings.length > 0 && "findings")}
${tile("Last change", last === undefined ? "none" : relativeTime(last.at, at), last !== undefined && last.rejections > 0 ? "error" : "ok", "changes")}
${tile("Certificates", late?.brief ?? (certificates.length === 0 ? "none" : "valid"), late === undefined ? "ok" : "error", "certificates")}
${tile("Sources current", `${current} / ${sources.length}`, current < sources.length ? "error" : "ok", "sources")}
</nav>
`;
}

function tile(label: string, value: HtmlValue, level: Level, section: string | false): Html {
  const content = html`<span class="label">${label}</span> <span class="value">${value}</span>`;
  return section === false
    ? html`<span class="tile ${level}">${content}</span>`
    : html`<a class="tile ${level}" href="#${section}">${content}</a>`;
}
