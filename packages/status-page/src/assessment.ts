import { assessCertificate, type AssessedCertificate } from "./certificate-state.js";
import { counted } from "./count.js";
import type { Finding, ProblemStatus, StatusModel } from "./model.js";
import { type AssessedProxy, assessProxies, type ProxyCounts } from "./proxy-state.js";
import { groupRejections, type RejectionGroup } from "./rejection-groups.js";

/** A model with the assessments that operators need, sorted for display. */
export interface Assessment {
  readonly state: "ok" | "warning" | "error";
  /** Errors first. */
  readonly attention: readonly Attention[];
  readonly proxyCounts: ProxyCounts;
  /** Worst state first. */
  readonly proxies: readonly AssessedProxy[];
  readonly rejections: readonly RejectionGroup[];
  /** Errors first. */
  readonly problems: readonly ProblemStatus[];
  /** Errors first. Absent if no analysis runs. */
  readonly findings?: readonly Finding[];
  /** Earliest expiry first. */
  readonly certificates: readonly AssessedCertificate[];
}

/** A condition that needs attention. */
export interface Attention {
  readonly level: "error" | "warning";
  readonly text: string;
  /** ID of the section that has the details. */
  readonly section: string;
}

/** Milliseconds after which an unacknowledged response counts as stale. */
const slowAfterMs = 5000;

const findingOrder: readonly Finding["level"][] = ["Error", "Warning", "Info"];

/** Sorts, groups and assesses the contents of a model. */
export function assess(model: StatusModel): Assessment {
  const { proxies, counts } = assessProxies(model.proxies);
  const problems = model.problems.toSorted(
    (a, b) => Number(a.severity === "warning") - Number(b.severity === "warning"),
  );
  const findings = model.findings?.toSorted((a, b) => findingOrder.indexOf(a.level) - findingOrder.indexOf(b.level));
  const certificates = model.certificates
    .map((each) => assessCertificate(each, model.at))
    .toSorted((a, b) => a.notAfter - b.notAfter);
  const found = {
    proxies,
    proxyCounts: counts,
    rejections: groupRejections(proxies),
    problems,
    ...(findings && { findings }),
    certificates,
  };
  const attention = attentionTo(model, found).toSorted(
    (a, b) => Number(a.level === "warning") - Number(b.level === "warning"),
  );
  return { state: attention[0]?.level ?? "ok", attention, ...found };
}

function attentionTo(
  { at, instance, sources, replicas = [] }: StatusModel,
  found: Omit<Assessment, "state" | "attention">,
): readonly Attention[] {
  const { proxies, proxyCounts, problems, findings = [], certificates } = found;
  const rejected = problems.filter(({ severity }) => severity === "error").length;
  const findingsAt = (level: Finding["level"]): number => findings.filter((finding) => finding.level === level).length;
  const slow = proxies.filter(
    ({ unacknowledgedSince }) => unacknowledgedSince !== undefined && at - unacknowledgedSince >= slowAfterMs,
  ).length;
  const some = (
    level: Attention["level"],
    section: string,
    count: number,
    text: (count: number) => string,
  ): readonly Attention[] => (count === 0 ? [] : [{ level, section, text: text(count) }]);
  return [
    ...some(
      "error",
      "instance",
      instance.waitingFor.length,
      () => `not ready: waiting for ${instance.waitingFor.join(", ")}`,
    ),
    ...replicas.flatMap(({ name, state }) =>
      state === "no answer"
        ? [{ level: "error", section: "replicas", text: `${name}: no answer, its proxies are not shown` } as const]
        : [],
    ),
    ...some(
      "error",
      "rejections",
      proxyCounts.rejected,
      (n) => `${counted(n, "proxy rejects its", "proxies reject their")} configuration`,
    ),
    ...some("error", "problems", rejected, (n) => `${counted(n, "error")} in configuration`),
    ...some("error", "findings", findingsAt("Error"), (n) => `${counted(n, "error")} found by analysis`),
    ...sources
      .filter(({ state }) => state === "stale")
      .map(
        ({ name }) =>
          ({ level: "error", section: "sources", text: `${name}: stale, the last good state stays active` }) as const,
      ),
    ...certificates
      .filter(({ isLate }) => isLate)
      .map(({ role, verdict }) => ({ level: "error", section: "certificates", text: `${role}: ${verdict}` }) as const),
    ...some(
      "warning",
      "proxies",
      proxyCounts.unsupported,
      (n) =>
        `${counted(n, "client is", "clients are")} not supported, and ${n === 1 ? "gets" : "get"} no configuration`,
    ),
    ...some(
      "warning",
      "proxies",
      slow,
      (n) => `${counted(n, "proxy has", "proxies have")} not acknowledged for over ${slowAfterMs / 1000}s`,
    ),
    ...some("warning", "problems", problems.length - rejected, (n) => `${counted(n, "warning")} in configuration`),
    ...some("warning", "findings", findingsAt("Warning"), (n) => `${counted(n, "warning")} found by analysis`),
  ];
}
