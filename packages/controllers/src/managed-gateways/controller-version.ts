/** Annotation of a Gateway: the version of the controller that manages its objects. */
export const versionAnnotation = "gateway.istio.io/controller-version";

/** The version of this controller. Of several controllers, that with the largest version manages a Gateway. */
export const controllerVersion = 5;

/** The decision whether this controller manages a Gateway. */
export interface Takeover {
  /** False if a newer controller manages it. */
  readonly isOurs: boolean;
  /** True if an older controller or none manages it, so that the annotation has to be written. */
  readonly isNeeded: boolean;
}

/**
 * Reports whether this controller manages a Gateway with these annotations. A version that is no number is that of a
 * newer controller.
 */
export function takeover(annotations: Readonly<Record<string, string>>): Takeover {
  const text = annotations[versionAnnotation];
  if (text === undefined) return { isOurs: true, isNeeded: true };
  const version = /^[+-]?\d+$/.test(text) ? Number(text) : Infinity;
  return { isOurs: version <= controllerVersion, isNeeded: version < controllerVersion };
}
