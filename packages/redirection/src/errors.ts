/**
 * Why traffic cannot be redirected. `setting`: a setting cannot be used. `command`: a program of the system failed or
 * is missing.
 */
export class RedirectionError extends Error {
  override readonly name = "RedirectionError";
  readonly code: "setting" | "command";

  constructor(code: RedirectionError["code"], message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
