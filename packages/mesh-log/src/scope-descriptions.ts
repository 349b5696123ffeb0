/** Descriptions of the log scopes, by Istio's names. */
export const scopeDescriptions: Readonly<Record<string, string>> = {
  analysis: "Findings about the configuration",
  ads: "State-of-the-world streams: connections, pushes and rejections; denied secrets",
  delta: "Delta streams: connections, pushes and rejections",
  debug: "Rejected debug requests",
  model: "The model of the mesh: unresolved hostnames of gateways",
  serverca: "Certificates issued and requests for them refused",
  pkica: "The certificate authority and istiod's own certificate",
  trustBundle: "SPIFFE bundles of the mesh configuration",
  push: "Changes, the pushes that they cause, and their results",
  validation: "Rejected objects, with the reason",
};
