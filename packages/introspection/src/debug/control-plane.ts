/** The instance that answers. */
export interface ControlPlaneInstance {
  /** The name of its Pod, or of its host outside of Kubernetes. */
  readonly id: string;
  readonly version: string;
}

/**
 * The identifier of this istiod in answers about the state of proxies: the JSON of the reference's
 * `IstioControlPlaneInstance`, whose ID `istioctl proxy-status` shows as ISTIOD. Source: pilot/pkg/xds/xdsgen.go.
 */
export function controlPlaneIdentifier({ id, version }: ControlPlaneInstance): string {
  const info = { version, revision: "", golang_version: "", status: "", tag: version };
  return JSON.stringify({ Component: "istiod", ID: id, Info: info });
}
