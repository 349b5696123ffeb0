/** `selector`: an invalid label selector. `annotation`: an annotation of a pod with an invalid value. */
export type InjectorErrorCode = "selector" | "annotation";

/** The only error of this package. Its message names the object and the field. */
export class InjectorError extends Error {
  override readonly name = "InjectorError";

  constructor(
    readonly code: InjectorErrorCode,
    message: string,
  ) {
    super(message);
  }
}
