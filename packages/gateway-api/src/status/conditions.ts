/** A condition of a status, without the time of its transition and the generation, which the writer adds. */
export interface StatusCondition {
  readonly type: string;
  readonly status: "True" | "False";
  readonly reason: string;
  readonly message: string;
  /** The parts of the message that name what is valid and has no effect. They are no field of the API's conditions. */
  readonly notes?: readonly string[];
}

/** The reason for which something is not as it is declared. */
export interface StatusFault {
  /** Reason of a condition, such as `InvalidCertificateRef`. */
  readonly reason: string;
  readonly message: string;
}

/** Returns a condition that is true, or that is false because of a fault. */
export function condition(type: string, holds: StatusFault, fault?: StatusFault): StatusCondition {
  return fault === undefined ? { type, status: "True", ...holds } : { type, status: "False", ...fault };
}

/** Returns a condition whose message ends with notes. */
export function withNotes(of: StatusCondition, notes: readonly string[]): StatusCondition {
  const distinct = [...new Set(notes)];
  return distinct.length === 0 ? of : { ...of, message: [of.message, ...distinct].join("; "), notes: distinct };
}

/** Returns conditions in the order of their types, in which Istio writes them. */
export function sortedConditions(conditions: readonly StatusCondition[]): readonly StatusCondition[] {
  return [...conditions].sort((a, b) => (a.type < b.type ? -1 : a.type > b.type ? 1 : 0));
}

/** Returns the texts as an enumeration: `a`, `a and b`, `a, b, and c`. */
export function enumeration(texts: readonly string[]): string {
  if (texts.length < 3) return texts.join(" and ");
  return `${texts.slice(0, -1).join(", ")}, and ${texts.at(-1) ?? ""}`;
}
