import { type FindingChanges, formatFinding } from "./findings.js";
import type { SaveResult } from "./saves.js";
import { labeled } from "./screen.js";

/**
 * Returns the lines that report the effect of a save.
 *
 * @param translate replaces paths of served files by the user's
 */
export function saveReport(
  result: SaveResult,
  proxies: number,
  translate: (text: string) => string,
  findings: FindingChanges = { found: [], resolved: [] },
): string[] {
  const { updated, milliseconds, rejected, found, resolved } = result;
  const errors = found.filter(({ severity }) => severity === "error");
  const warnings = found.filter(({ severity }) => severity === "warning");
  const acknowledged =
    milliseconds === undefined ? "not all have acknowledged it" : `all acknowledged after ${milliseconds} ms`;
  const effect =
    updated === 0 ? "nothing changed for proxies" : `${updated} of ${proxies} proxies updated, ${acknowledged}`;
  return [
    ...errors.map(({ text }) => labeled("rejected", translate(text))),
    ...warnings.map(({ text }) => labeled("warning", translate(text))),
    ...findings.found.map((finding) => labeled("finding", translate(formatFinding(finding)))),
    ...findings.resolved.map((finding) => labeled("resolved", translate(formatFinding(finding)))),
    ...resolved.map(({ text }) => labeled("resolved", translate(text))),
    labeled("saved", errors.length > 0 ? `${effect}; the last good version of what was rejected stays active` : effect),
    ...rejected.map((reason) => labeled("", `rejected by ${reason}`)),
  ];
}
