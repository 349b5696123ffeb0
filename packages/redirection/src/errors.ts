/** The error of this package. `setting`: a setting is invalid. `command`: a system command failed or is missing. */
export class RedirectionError extends Error {
  override readonly name = "RedirectionError";
  readonly code: "setting" | "command";

  constructor(code: RedirectionError["code"], message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
