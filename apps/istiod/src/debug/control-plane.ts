import { hostname } from "node:os";
import { variables } from "../variables.js";

/**
 * The identifier of this istiod in answers about the state of proxies: the JSON of the reference's
 * `IstioControlPlaneInstance`, whose ID `istioctl proxy-status` shows as ISTIOD. The ID is the name of the Pod; outside
 * Kubernetes, where `POD_NAME` is not set, that of the host. Source: pilot/pkg/xds/xdsgen.go.
 */
export function controlPlaneIdentifier(env: NodeJS.ProcessEnv, version: string): string {
  const info = { version, revision: "", golang_version: "", status: "", tag: version };
  return JSON.stringify({ Component: "istiod", ID: variables.podName.read(env) || hostname(), Info: info });
}
