/** The reason for which a workload cannot register. */
export class RegistrationError extends Error {
  /** `precondition`: a WorkloadGroup or WorkloadEntry is missing; `denied`; `unavailable`: it could not be written. */
  readonly code: "precondition" | "denied" | "unavailable";

  constructor(code: RegistrationError["code"], message: string) {
    super(message);
    this.name = "RegistrationError";
    this.code = code;
  }
}
