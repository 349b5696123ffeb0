/**
 * `selector`: a label selector that Kubernetes would refuse; `annotation`: an annotation of a pod with a value that it
 * cannot have.
 */
export type InjectorErrorCode = "selector" | "annotation";

/** The only error of this package; the message names the object and the field. */
export class InjectorError extends Error {
  override readonly name = "InjectorError";

  constructor(
    readonly code: InjectorErrorCode,
    message: string,
  ) {
    super(message);
  }
}
