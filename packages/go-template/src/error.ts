/** Codes of template errors. */
export type TemplateErrorCode =
  /** The source of a template is not valid. */
  | "parse"
  /** The execution failed. */
  | "execute"
  /** The execution exceeded a limit. */
  | "limit";

/** Error of parsing or executing a template, worded as Go words it: it names the template, line and column. */
export class TemplateError extends Error {
  override readonly name = "TemplateError";

  constructor(
    readonly code: TemplateErrorCode,
    message: string,
    options?: { readonly cause?: unknown },
  ) {
    super(message, options);
  }
}
