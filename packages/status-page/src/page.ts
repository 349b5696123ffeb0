import { assess, type Assessment } from "./assessment.js";
import { html, type Html } from "./html.js";
import type { StatusModel } from "./model.js";
import { refreshScript } from "./refresh-script.js";
import { certificatesSection } from "./sections/certificates.js";
import { changesSection } from "./sections/changes.js";
import { objectsSection, pagesSection, sourcesSection } from "./sections/configuration.js";
import { headline, overview } from "./sections/overview.js";
import { findingsSection, problemsSection } from "./sections/problems.js";
import { proxiesSection } from "./sections/proxies.js";
import { replicasSection } from "./sections/replicas.js";
import { rejectionsSection } from "./sections/rejections.js";
import { style } from "./style.js";
import { asJson } from "./table.js";
import { isoTime } from "./time.js";

export interface PageOptions {
  /** Seconds between refreshes. Default: no refresh. */
  readonly refreshSeconds?: number;
}

/** Refresh intervals that the page offers, in seconds. */
const offeredSeconds = 10;

/** Renders the page as self-contained HTML. */
export function renderPage(model: StatusModel, { refreshSeconds }: PageOptions = {}): string {
  const assessment = assess(model);
  const { markup } = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>${assessment.attention.length > 0 && `(${assessment.attention.length}) `}istiod ${model.instance.name}: ${headline(assessment)}</title>
<link rel="icon" href="${icon(assessment.state)}">
${refreshSeconds !== undefined && html`<noscript><meta http-equiv="refresh" content="${refreshSeconds}"></noscript>\n`}<style>${style}</style>
</head>
<body>
<a class="skip" href="#main">Skip to the status</a>
<header>
<h1>istiod</h1>
<p id="moment">as of <time datetime="${isoTime(model.at)}">${isoTime(model.at).replace("T", " ").slice(0, 19)} UTC</time></p>
<nav aria-label="View">${refreshLink(refreshSeconds)} <a href="${asJson}">JSON</a></nav>
</header>
<p id="unreachable" role="alert" hidden>istiod does not answer: this is its last state.</p>
<main id="main" tabindex="-1">
${sections(model, assessment)}</main>
${refreshSeconds !== undefined && html`<script data-seconds="${refreshSeconds}">${refreshScript}</script>\n`}</body>
</html>
`;
  return markup;
}

function sections(model: StatusModel, assessment: Assessment): readonly Html[] {
  return [
    overview(model, assessment),
    rejectionsSection(assessment.rejections, model.at),
    problemsSection(assessment.problems),
    findingsSection(assessment.findings ?? []),
    replicasSection(model),
    proxiesSection(model, assessment),
    changesSection(model),
    certificatesSection(assessment.certificates, model.at),
    sourcesSection(model.sources),
    objectsSection(model),
    pagesSection(model),
  ];
}

function refreshLink(seconds: number | undefined): Html {
  return seconds === undefined
    ? html`<a href="?refresh=${offeredSeconds}">Refresh every ${offeredSeconds}s</a>`
    : html`<a href="./">Stop refreshing</a> <span class="note">every ${seconds}s</span>`;
}

const colors: Readonly<Record<Assessment["state"], string>> = { ok: "2da44e", warning: "bf8700", error: "cf222e" };

/** Renders the favicon: a sail in the color of the state. */
function icon(state: Assessment["state"]): string {
  return `data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Cpath fill='%23${colors[state]}' d='M7 1v9H2zM8 3l6 7H8zM2 11h12l-2 4H4z'/%3E%3C/svg%3E`;
}
