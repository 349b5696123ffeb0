import { type MeshConfig, MeshConfig_IngressControllerMode as Mode } from "@istiod/istio-api/mesh/v1alpha1/config";

const istioController = "istio.io/ingress-controller";

/** Reports whether an IngressClass with a controller is Istio's. */
export function isIstioClass(controller: string | undefined): boolean {
  return controller === istioController;
}

/** The classes that an Ingress names. */
export interface ClassesOfIngress {
  /** The class of the annotation; undefined if there is none. */
  readonly annotated: string | undefined;
  /** Returns the controller of the IngressClass that `spec.ingressClassName` names; undefined if there is none. */
  controller(): string | undefined;
}

/**
 * Reports whether an Ingress has Istio's class. The annotation takes precedence over `spec.ingressClassName`. An
 * Ingress without a class is served only if ingressControllerMode is DEFAULT, and none is if it is OFF.
 */
export function hasServedClass(
  { annotated, controller }: ClassesOfIngress,
  mesh: Pick<MeshConfig, "ingressControllerMode" | "ingressClass">,
): boolean {
  const mode = mesh.ingressControllerMode;
  if (mode === Mode.OFF) return false;
  if (annotated !== undefined)
    return (mode === Mode.STRICT || mode === Mode.DEFAULT) && annotated === mesh.ingressClass;
  const named = controller();
  return named === undefined ? mode === Mode.DEFAULT : isIstioClass(named);
}
