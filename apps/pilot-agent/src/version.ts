/** The version of Istio that the agent is compatible with. istiod derives a proxy's features from it. */
export const ISTIO_VERSION = "1.32.0";
