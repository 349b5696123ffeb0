import { counted } from "../count.js";
import { html, type Html, link } from "../html.js";
import type { Finding, ProblemStatus } from "../model.js";
import { asJson, bounded, quoted, section } from "../table.js";

const most = 10;

/** Renders problems of documents with file and line. */
export function problemsSection(problems: readonly ProblemStatus[]): Html {
  if (problems.length === 0) return html``;
  const bound = { most, href: asJson, one: "problem" };
  return section(
    "problems",
    "Configuration problems",
    counted(problems.length, "problem"),
    bounded(problems, bound, (shown) => html`<ol class="faults">\n${shown.map(problemEntry)}</ol>\n`),
  );
}

function problemEntry({ severity, file, line, object, field, message }: ProblemStatus): Html {
  return html`<li class="${severity}">
<p><strong>${severity === "error" ? "Error" : "Warning"}</strong> ${object !== "" && html`<span class="name">${object}</span>`}</p>
<p class="quote">${field !== "" && html`<span class="field">${field}</span>: `}${quoted(message)}</p>
<p class="note place">${line > 0 ? `${file}:${line}` : file}</p>
</li>
`;
}

/** Renders analysis messages about accepted objects. */
export function findingsSection(findings: readonly Finding[]): Html {
  if (findings.length === 0) return html``;
  const bound = { most, href: asJson, one: "finding" };
  return section(
    "findings",
    "Findings",
    "about accepted objects",
    bounded(findings, bound, (shown) => html`<ol class="faults">\n${shown.map(findingEntry)}</ol>\n`),
  );
}

function findingEntry({ code, level, origin, reference, message }: Finding): Html {
  return html`<li class="${level.toLowerCase()}">
<p><strong>${level}</strong> ${link(explanationOf(code), code)} <span class="name">${origin}</span></p>
<p class="quote">${quoted(message)}</p>
${reference !== "" && html`<p class="note place">${reference}</p>\n`}</li>
`;
}

/** Returns the URL of Istio's documentation of an analysis code. */
function explanationOf(code: string): string | undefined {
  return /^IST\d{4}$/.test(code)
    ? `https://istio.io/latest/docs/reference/config/analysis/${code.toLowerCase()}/`
    : undefined;
}
