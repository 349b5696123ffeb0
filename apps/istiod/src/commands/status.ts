import { setTimeout as sleep } from "node:timers/promises";
import { reasonOf } from "@istiod/runtime";
import { durationSetting, enumSetting, type SettingValues, booleanSetting, stringSetting } from "@istiod/settings";
import { SettingsCommand } from "@istiod/settings/command";
import type { Command } from "commander";
import { formatMessages, isAtLeast, type Message } from "@istiod/analysis";
import { kubernetesKinds } from "@istiod/config-schema";
import {
  formatName,
  formatStatus,
  isGone,
  isIneffective,
  isLive,
  type ObjectStatus,
  parseName,
} from "@istiod/push-report";
import type { StatusAnswer } from "../debug/status-answer.js";

export interface StatusOutput {
  readonly print: (text: string) => void;
  readonly warn: (text: string) => void;
  readonly exit: (status: number) => void;
}

/** Exit statuses by meaning. */
export const statusExits = {
  live: 0,
  /** Not live on all proxies yet; with `--wait`, the timeout expired. */
  notLive: 1,
  /** The command line is invalid, or istiod does not respond. */
  failed: 2,
  /** An object is rejected by its source or by a proxy. Waiting does not help. */
  rejected: 3,
  /** An object is accepted, but has no effect or an unresolved reference. Waiting does not help. */
  ineffective: 4,
} as const;

const statusFlags = {
  for: enumSetting<"live" | "gone">(
    { flag: "for", placeholder: "state", default: "live", help: "required state of the objects: live or gone" },
    ["live", "gone"],
  ),
  wait: booleanSetting({
    flag: "wait",
    default: false,
    help: "wait until the objects reach the state on all proxies, or cannot reach it",
  }),
  timeout: durationSetting({ flag: "timeout", default: 60_000, help: "timeout of --wait" }),
  output: enumSetting<"text" | "json">(
    { flag: "output", short: "o", placeholder: "format", default: "text", help: "output format: text or json" },
    ["text", "json"],
  ),
  istiod: stringSetting({
    flag: "istiod",
    placeholder: "url",
    default: "http://127.0.0.1:8080",
    help: "HTTP URL of a running istiod",
  }),
} as const;

type StatusFlags = SettingValues<typeof statusFlags>;

const pollMs = 250;
const missingShown = 10;
const findingsShown = 10;

/** The command `istiod status`: prints the number of proxies on which objects are live. */
export function statusCommand({ print, warn, exit }: StatusOutput): Command {
  return new SettingsCommand("status")
    .description(
      "Print the number of affected proxies on which objects are live, or from which deleted objects are gone. Exit status: 0 if all are, 1 if not all are yet, 2 on errors, 3 if an object is rejected, 4 if an object has no effect or an unresolved reference.",
    )
    .argument("[objects...]", "KIND/NAMESPACE/NAME; default: the objects that changed last")
    .addSettings(statusFlags, {})
    .action(async (objects: readonly string[], flags: StatusFlags) => {
      try {
        const names = objects.map((object) => formatName(parseName(object)));
        const answer = await ask(names, flags);
        if (flags.output === "json") print(`${JSON.stringify(answer, undefined, 2)}\n`);
        else print(text(answer));
        exit(exitOf(answer, names, flags.for));
      } catch (error) {
        warn(`istiod status: ${reasonOf(error)}\n`);
        exit(statusExits.failed);
      }
    });
}

async function ask(names: readonly string[], { wait, for: goal, timeout, istiod }: StatusFlags): Promise<StatusAnswer> {
  const until = Date.now() + timeout;
  const url = new URL("/debug/status", istiod);
  for (const name of names) url.searchParams.append("object", name);
  // Once istiod has caught up with the API server's state at the start of the command, it need not do so again.
  if (names.length > 0) url.searchParams.set("latest", "true");
  for (;;) {
    const answer = await fetched(url);
    if (answer.objects.every(({ unread }) => unread.length === 0)) url.searchParams.delete("latest");
    const exit = exitOf(answer, names, goal);
    const isOver = exit !== statusExits.notLive && !answer.gathering;
    if (!wait || isOver || Date.now() >= until) return answer;
    await sleep(Math.min(pollMs, Math.max(1, until - Date.now())));
  }
}

async function fetched(url: URL): Promise<StatusAnswer> {
  const response = await fetch(url).catch((cause: unknown) => {
    throw new Error(`${url.origin} does not answer: is istiod running there? Give --istiod another URL`, { cause });
  });
  const body = await response.text();
  if (!response.ok) throw new Error(`${url.origin} answers ${response.status}: ${body.trim()}`);
  return JSON.parse(body) as StatusAnswer;
}

/**
 * Returns the exit status for an answer, for use in pipelines.
 *
 * @param asked The named objects. If empty, all changed objects count, deleted ones must be gone, and all problems of
 *   the sources count.
 * @param goal `live` on all proxies, or `gone` from all proxies.
 */
export function exitOf(answer: StatusAnswer, asked: readonly string[], goal = "live"): number {
  const { objects, problems, gathering } = answer;
  // The rest of the response refers to an older version.
  if (objects.some(({ unread }) => unread.length > 0)) return statusExits.notLive;
  const concerns = (object: string): boolean => asked.length === 0 || asked.includes(object);
  const isRejected = problems.some(({ object, severity }) => severity === "error" && concerns(object));
  if (isRejected || objects.some(({ rejected }) => rejected > 0)) return statusExits.rejected;
  const isSupporting = ({ object: { kind } }: ObjectStatus): boolean => asked.length === 0 && supportingKinds.has(kind);
  const counted = objects.filter((status) => !isSupporting(status) || !isIneffective(status));
  if (goal === "live" && (counted.some(isIneffective) || leadsNowhere(answer))) return statusExits.ineffective;
  const isDone = (status: ObjectStatus): boolean =>
    goal === "gone" || (asked.length === 0 && !status.found) ? isGone(status) : isLive(status);
  return !gathering && counted.every(isDone) ? statusExits.live : statusExits.notLive;
}

/** Kinds whose objects often affect no proxy by themselves, such as ServiceAccount. */
const supportingKinds: ReadonlySet<string> = new Set(kubernetesKinds.map(({ kind }) => kind));

function leadsNowhere({ objects, newFindings }: StatusAnswer): boolean {
  return objects.some(hasErrors) || hasErrors({ findings: newFindings });
}

function hasErrors({ findings }: { readonly findings: readonly Message[] }): boolean {
  return findings.some(({ level }) => level === "Error");
}

function text({ objects, problems, newFindings, moreFindings }: StatusAnswer): string {
  const ofObjects = objects.flatMap((status) => [
    formatStatus(status, !hasErrors(status)),
    ...notRead(status),
    ...missing(status),
    ...omittedFrom(status),
    ...worst(status.findings),
  ]);
  const wrong = problems.map(({ severity, text: problem }) => `${severity}: ${problem}`);
  const more = moreFindings === 0 ? [] : [`and ${moreFindings} more findings: run istiod analyze`];
  const lines = [...ofObjects, ...wrong, ...newFindings.map(finding), ...more];
  if (lines.length === 0) return "nothing changed since istiod started; name objects as KIND/NAMESPACE/NAME\n";
  return lines.map((line) => `${line}\n`).join("");
}

function notRead({ unread }: StatusAnswer["objects"][number]): string[] {
  return unread.map(({ source, error }) =>
    error === undefined
      ? `  a former version: istiod has not read the latest one of ${source} yet`
      : `  perhaps a former version: ${source} does not tell the latest one: ${error}`,
  );
}

function omittedFrom({ omitted }: StatusAnswer["objects"][number]): string[] {
  const shown = omitted
    .slice(0, missingShown)
    .map(
      ({ reason, proxies, proxy }) =>
        `  ${reason} (${proxies} ${proxies === 1 ? "proxy" : "proxies"}, such as ${proxy})`,
    );
  return omitted.length > missingShown ? [...shown, `  and ${omitted.length - missingShown} more`] : shown;
}

function worst(findings: readonly Message[]): string[] {
  const severe = findings.filter(({ level }) => isAtLeast(level, "Warning"));
  const shown = severe.slice(0, findingsShown).map((message) => `  ${finding(message)}`);
  return severe.length > findingsShown
    ? [...shown, `  and ${severe.length - findingsShown} more findings: run istiod analyze`]
    : shown;
}

function finding(message: Message): string {
  return formatMessages([message], "log").trimEnd();
}

function missing({ missing: list }: ObjectStatus): string[] {
  const shown = list.slice(0, missingShown).map(({ proxy, reason, typeUrl, resources, message }) => {
    const type = typeUrl === "" ? "" : ` ${typeUrl.slice(typeUrl.lastIndexOf(".") + 1)}`;
    const names =
      resources.length > 3
        ? `${resources.slice(0, 3).join(", ")} and ${resources.length - 3} more`
        : resources.join(", ");
    return `  ${proxy}:${type}${names === "" ? "" : ` ${names}`} ${reason}${message === undefined ? "" : `: ${message}`}`;
  });
  return list.length > missingShown ? [...shown, `  and ${list.length - missingShown} more`] : shown;
}
