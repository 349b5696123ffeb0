/** The version of Istio whose behaviour the agent has; istiod decides by it what a proxy understands. */
export const ISTIO_VERSION = "1.32.0";
