import { counted } from "../count.js";
import { html, type Html, link } from "../html.js";
import type { Link, SourceStatus, StatusModel } from "../model.js";
import { type Level, mark, section, table } from "../table.js";

const levels: Readonly<Record<SourceStatus["state"], Level>> = { current: "ok", reading: "idle", stale: "error" };

/** Renders the configuration sources with their state. */
export function sourcesSection(sources: readonly SourceStatus[]): Html {
  const columns = [
    { label: "Source", cell: ({ name }: SourceStatus) => name },
    { label: "Location", cell: ({ location }: SourceStatus) => html`<span class="name">${location}</span>` },
    {
      label: "State",
      cell: ({ state, reasons }: SourceStatus) =>
        html`${mark(levels[state], state)}${reasons.slice(0, 3).map((reason) => html`<p class="quote">${reason}</p>`)}${reasons.length > 3 && html`<p class="note">and ${reasons.length - 3} more</p>`}`,
    },
  ];
  return section(
    "sources",
    "Sources",
    undefined,
    table({ caption: "Sources of configuration", columns, rows: sources, isTrouble: ({ state }) => state === "stale" }),
  );
}

/** Renders the number of objects by kind, largest first. */
export function objectsSection({ objects }: StatusModel): Html {
  const present = objects
    .filter(({ count }) => count > 0)
    .toSorted((a, b) => b.count - a.count || (a.kind < b.kind ? -1 : 1));
  const total = present.reduce((sum, { count }) => sum + count, 0);
  const kinds = present.map(
    ({ kind, group, count }) =>
      html`<div><dt>${kind}${group !== "" && html` <span class="note">${group}</span>`}</dt><dd>${count.toLocaleString("en-US")}</dd></div>\n`,
  );
  return section(
    "objects",
    "Objects",
    `${counted(total, "object")} of ${counted(present.length, "kind")}`,
    html`<dl class="kinds">\n${kinds}</dl>\n`,
  );
}

/** Renders links to other pages. */
export function pagesSection({ pages, documentation }: StatusModel): Html {
  const list = (links: readonly Link[]): Html =>
    html`<ul class="links">\n${links.map(({ href, label, about }) => html`<li>${link(href, label)} <span class="note">${about}</span></li>\n`)}</ul>\n`;
  return section(
    "pages",
    "More",
    undefined,
    html`<nav aria-label="Debug pages">\n${list(pages)}</nav>\n${documentation.length > 0 && html`<nav aria-label="Documentation">\n<h3>Documentation</h3>\n${list(documentation)}</nav>\n`}`,
  );
}
