/** Labels of a series by name. */
export type Labels = ReadonlyMap<string, string>;

/** Istio's value of a label that is not known. */
export const UNKNOWN = "unknown";
