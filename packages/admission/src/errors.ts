/** Reason for which a request is answered without a verdict. */
export type AdmissionErrorCode =
  | "method"
  | "media-type"
  | "empty"
  | "too-large"
  | "malformed"
  | "unsupported"
  | "overloaded"
  | "deadline";

const statuses: Readonly<Record<AdmissionErrorCode, number>> = {
  method: 405,
  "media-type": 415,
  empty: 400,
  "too-large": 413,
  malformed: 400,
  unsupported: 400,
  overloaded: 429,
  deadline: 504,
};

/** A request that is answered without a verdict. */
export class AdmissionError extends Error {
  override readonly name = "AdmissionError";
  readonly code: AdmissionErrorCode;

  constructor(code: AdmissionErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }

  /** The HTTP status of the answer. */
  get status(): number {
    return statuses[this.code];
  }
}
