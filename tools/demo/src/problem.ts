/** A problem in a file, as istiod reports it: `file:line: Kind namespace/name: field: message`. */
export interface Problem {
  readonly severity: "error" | "warning";
  readonly text: string;
}
