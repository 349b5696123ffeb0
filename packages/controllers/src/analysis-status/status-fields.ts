import type { KubernetesObject } from "@istiod/kubernetes";

/** A message of `status.validationMessages` (AnalysisMessageBase of Istio's API). */
export interface StatusMessage {
  /** Such as `IST0101`. */
  readonly code: string;
  /** Such as `ReferencedResourceNotFound`. */
  readonly name: string;
  readonly level: "ERROR" | "WARNING" | "INFO";
  /** Page about the code, if there is one. */
  readonly documentationUrl?: string;
}

/** The fields of an object that the analysis status is computed from. */
export interface ObservedStatus {
  readonly generation: number;
  /** Empty if absent. */
  readonly observedGeneration: string;
  /** As in the object. */
  readonly messages: readonly unknown[];
}

interface AnalyzedObject extends KubernetesObject {
  readonly status?: {
    readonly observedGeneration?: number | string;
    readonly validationMessages?: readonly unknown[] | null;
  };
}

export function observeStatus({ metadata, status }: AnalyzedObject): ObservedStatus {
  return {
    generation: Number(metadata?.["generation"] ?? 0),
    observedGeneration: String(status?.observedGeneration ?? ""),
    messages: status?.validationMessages ?? [],
  };
}

/** Returns messages as they are written: most severe first, each once, because they have no field or text. */
export function statusMessages(messages: readonly StatusMessage[]): readonly object[] {
  const rank = ({ level, code }: StatusMessage): string => `${levels.indexOf(level)} ${code}`;
  const distinct = new Map(messages.map((message) => [rank(message), message]));
  return [...distinct]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, { code, name, level, documentationUrl }]) => ({
      ...(documentationUrl !== undefined && { documentationUrl }),
      level,
      type: { code, name },
    }));
}

const levels: readonly StatusMessage["level"][] = ["ERROR", "WARNING", "INFO"];

/** Reports whether the observed messages are those to write, whatever the order of their fields. */
export function hasMessages(observed: readonly unknown[], messages: readonly object[]): boolean {
  return observed.length === messages.length && observed.every((one, i) => canonical(one) === canonical(messages[i]));
}

function canonical(value: unknown): string {
  return JSON.stringify(value, (_, field: unknown) =>
    typeof field === "object" && field !== null && !Array.isArray(field)
      ? Object.fromEntries(Object.entries(field).sort(([a], [b]) => (a < b ? -1 : 1)))
      : field,
  );
}
