import { formatMessages, isAtLeast, type Message } from "@istiod/analysis";
import { formatStatus, type ObjectStatus } from "@istiod/push-report";
import { formatUnserved } from "../connected-proxies.js";
import { formatSilent } from "../format.js";
import type { ControlPlaneStatus } from "./join-status.js";
import { hasErrors } from "./status-exit.js";
import type { AnnotatedStatus } from "./status-answer.js";

const missingShown = 10;
const findingsShown = 10;

/** Formats the statuses of objects, what is wrong with them, and the replicas that do not answer. */
export function formatControlPlaneStatus(status: ControlPlaneStatus): string {
  const { replicas, objects, problems, newFindings, moreFindings, failures, silent, unserved } = status;
  const ofObjects = objects.flatMap((each) => [
    formatStatus(each, !hasErrors(each)),
    ...notRead(each, replicas.length > 1),
    ...missing(each),
    ...appliedPatches(each),
    ...omittedFrom(each),
    ...worst(each.findings),
  ]);
  const wrong = problems.map(({ severity, text: problem }) => `${severity}: ${problem}`);
  const more = moreFindings === 0 ? [] : [`and ${moreFindings} more findings: run istiod analyze`];
  const lines = [...ofObjects, ...wrong, ...newFindings.map(finding), ...more];
  const all =
    lines.length === 0
      ? "nothing changed since istiod started; name objects as KIND/NAMESPACE/NAME\n"
      : lines.map((line) => `${line}\n`).join("");
  const failed = failures.map(({ instance, error }) => ({ name: instance.name, reason: error.trim() }));
  return `${all}${formatUnserved(unserved)}${formatSilent([...silent, ...failed])}`;
}

function notRead({ unread }: AnnotatedStatus, hasReplicas: boolean): string[] {
  return unread.map(({ source, error, replica }) => {
    const reader = hasReplicas && replica !== undefined ? replica : "istiod";
    return error === undefined
      ? `  stale: ${reader} has not read the latest version from ${source} yet`
      : `  possibly stale: ${reader} cannot read the latest version from ${source}: ${error}`;
  });
}

function appliedPatches({ patches = [] }: AnnotatedStatus): string[] {
  return patches.map(
    ({ index, resources, proxies }) =>
      `  spec.configPatches[${index}] is applied to ${counted(resources, "resource")} of ${proxies === 1 ? "1 proxy" : `${proxies} proxies`}`,
  );
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

function omittedFrom({ omitted }: AnnotatedStatus): string[] {
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
