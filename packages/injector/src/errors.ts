/**
 * `selector`: an invalid label selector. `annotation`: an annotation of a pod with an invalid value. `pod`: an object
 * that is no pod, or a field of another type. `patch`: a template's output that cannot be merged into the pod.
 * `template`: a template that is missing, fails, or whose output is changed in structure by a value of the pod.
 * `config`: invalid injection configuration, values, or mesh configuration.
 */
export type InjectorErrorCode = "selector" | "annotation" | "pod" | "patch" | "template" | "config";

/** The only error of this package. Its message names the object and the field. */
export class InjectorError extends Error {
  override readonly name = "InjectorError";

  constructor(
    readonly code: InjectorErrorCode,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}
