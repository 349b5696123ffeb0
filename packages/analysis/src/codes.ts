import type { Level, MessageType } from "./message-type.js";
import { mistakeTypes } from "./mistake-codes.js";

export type { Level, MessageType } from "./message-type.js";

/**
 * Every kind of finding by its code. Codes `IST…` have the numbers, names and levels of Istio's analysis messages;
 * codes `MESH…` are for problems that Istio's analysis does not check.
 */
export const messageTypes = {
  IST0001: { name: "InternalError", level: "Error", description: "An analyzer failed, which is a bug." },
  IST0002: { name: "Deprecated", level: "Warning", description: "The configuration depends on a deprecated feature." },
  IST0101: { name: "ReferencedResourceNotFound", level: "Error", description: "A referenced object does not exist." },
  IST0102: {
    name: "NamespaceNotInjected",
    level: "Info",
    description: "A namespace has no label that enables injection.",
  },
  IST0103: {
    name: "PodMissingProxy",
    level: "Warning",
    description: "A pod has no sidecar although injection is enabled for it.",
  },
  IST0106: { name: "SchemaValidationError", level: "Error", description: "Validation rejects the object." },
  IST0107: {
    name: "MisplacedAnnotation",
    level: "Warning",
    description: "An annotation is on a kind that it does not apply to.",
  },
  IST0108: {
    name: "UnknownAnnotation",
    level: "Warning",
    description: "An annotation in Istio's domain does not exist.",
  },
  IST0109: {
    name: "ConflictingMeshGatewayVirtualServiceHosts",
    level: "Error",
    description: "Several VirtualServices of the mesh gateway have the same host.",
  },
  IST0110: {
    name: "ConflictingSidecarWorkloadSelectors",
    level: "Error",
    description: "Several Sidecars select the same pod.",
  },
  IST0111: {
    name: "MultipleSidecarsWithoutWorkloadSelectors",
    level: "Error",
    description: "Several Sidecars of a namespace have no workload selector.",
  },
  IST0112: {
    name: "VirtualServiceDestinationPortSelectorRequired",
    level: "Error",
    description: "A destination without a port has a service with several ports.",
  },
  IST0116: {
    name: "DeploymentAssociatedToMultipleServices",
    level: "Warning",
    description: "Services of a deployment use one port with different protocols.",
  },
  IST0118: {
    name: "PortNameIsNotUnderNamingConvention",
    level: "Info",
    description: "The name of a port does not begin with a protocol.",
  },
  IST0123: {
    name: "NamespaceMultipleInjectionLabels",
    level: "Warning",
    description: "A namespace has more than one kind of injection label.",
  },
  IST0125: { name: "InvalidAnnotation", level: "Warning", description: "The value of an annotation is invalid." },
  IST0126: {
    name: "UnknownMeshNetworksServiceRegistry",
    level: "Error",
    description: "Mesh networks name an unknown service registry.",
  },
  IST0127: {
    name: "NoMatchingWorkloadsFound",
    level: "Warning",
    description: "The selector of a policy matches no workload.",
  },
  IST0128: {
    name: "NoServerCertificateVerificationDestinationLevel",
    level: "Warning",
    description: "A DestinationRule originates TLS without verifying the server's certificate.",
  },
  IST0129: {
    name: "NoServerCertificateVerificationPortLevel",
    level: "Warning",
    description: "A DestinationRule originates TLS for a port without verifying the server's certificate.",
  },
  IST0130: { name: "VirtualServiceUnreachableRule", level: "Warning", description: "A route can never be reached." },
  IST0131: {
    name: "VirtualServiceIneffectiveMatch",
    level: "Info",
    description: "A match is a duplicate of, or covered by, an earlier one.",
  },
  IST0132: {
    name: "VirtualServiceHostNotFoundInGateway",
    level: "Warning",
    description: "A gateway does not have the host of a VirtualService that is bound to it.",
  },
  IST0133: { name: "SchemaWarning", level: "Warning", description: "Validation warns about the object." },
  IST0134: {
    name: "ServiceEntryAddressesRequired",
    level: "Warning",
    description: "A TCP ServiceEntry has no addresses, and none are allocated.",
  },
  IST0135: { name: "DeprecatedAnnotation", level: "Info", description: "An annotation is deprecated." },
  IST0136: { name: "AlphaAnnotation", level: "Info", description: "An annotation belongs to an alpha feature." },
  IST0137: {
    name: "DeploymentConflictingPorts",
    level: "Warning",
    description: "Services of a deployment map different ports to one target port.",
  },
  IST0138: {
    name: "GatewayDuplicateCertificate",
    level: "Warning",
    description: "Several gateways use the same certificate.",
  },
  IST0139: {
    name: "InvalidWebhook",
    level: "Error",
    description: "A webhook overlaps another, or its service does not exist.",
  },
  IST0140: {
    name: "IngressRouteRulesNotAffected",
    level: "Warning",
    description: "A subset has no effect at an ingress gateway.",
  },
  IST0144: {
    name: "InvalidApplicationUID",
    level: "Warning",
    description: "An application runs as user 1337, which is reserved for the proxy.",
  },
  IST0145: {
    name: "ConflictingGateways",
    level: "Error",
    description: "Gateways of one selector and port have the same hosts.",
  },
  IST0146: {
    name: "ImageAutoWithoutInjectionWarning",
    level: "Warning",
    description: "A deployment has `image: auto` but no injection webhook selects it.",
  },
  IST0147: {
    name: "ImageAutoWithoutInjectionError",
    level: "Error",
    description: "A pod has `image: auto` but no injection webhook selects it.",
  },
  IST0148: {
    name: "NamespaceInjectionEnabledByDefault",
    level: "Info",
    description: "A namespace is injected because injection is on by default.",
  },
  IST0149: {
    name: "JwtClaimBasedRoutingWithoutRequestAuthN",
    level: "Error",
    description: "Routing by JWT claims at a gateway that validates no JWT.",
  },
  IST0150: {
    name: "ExternalNameServiceTypeInvalidPortName",
    level: "Warning",
    description: "The port name of an ExternalName service makes it TCP.",
  },
  IST0151: {
    name: "EnvoyFilterUsesRelativeOperation",
    level: "Warning",
    description: "An EnvoyFilter without priority has an operation relative to another filter.",
  },
  IST0152: {
    name: "EnvoyFilterUsesReplaceOperationIncorrectly",
    level: "Error",
    description: "An EnvoyFilter uses REPLACE where it has no effect.",
  },
  IST0153: {
    name: "EnvoyFilterUsesAddOperationIncorrectly",
    level: "Error",
    description: "An EnvoyFilter uses ADD where it has no effect.",
  },
  IST0154: {
    name: "EnvoyFilterUsesRemoveOperationIncorrectly",
    level: "Error",
    description: "An EnvoyFilter uses REMOVE where it has no effect.",
  },
  IST0155: {
    name: "EnvoyFilterUsesRelativeOperationWithProxyVersion",
    level: "Warning",
    description: "An EnvoyFilter with a proxy version has an operation relative to another filter.",
  },
  IST0157: { name: "InvalidTelemetryProvider", level: "Warning", description: "A Telemetry names no provider." },
  IST0158: {
    name: "PodsIstioProxyImageMismatchInNamespace",
    level: "Warning",
    description: "Pods run another proxy image than injection gives.",
  },
  IST0159: {
    name: "ConflictingTelemetryWorkloadSelectors",
    level: "Error",
    description: "Several Telemetries select the same pod.",
  },
  IST0160: {
    name: "MultipleTelemetriesWithoutWorkloadSelectors",
    level: "Error",
    description: "Several Telemetries of a namespace have no selector.",
  },
  IST0161: {
    name: "InvalidGatewayCredential",
    level: "Error",
    description: "The Secret of a gateway holds no valid certificate.",
  },
  IST0162: {
    name: "GatewayPortNotDefinedOnService",
    level: "Warning",
    description: "A gateway listens on a port that no Service of its pods has.",
  },
  IST0163: {
    name: "InvalidExternalControlPlaneConfig",
    level: "Warning",
    description: "The address of an external control plane's webhook is invalid.",
  },
  IST0164: {
    name: "ExternalControlPlaneAddressIsNotAHostname",
    level: "Info",
    description: "The address of an external control plane's webhook is an IP address.",
  },
  IST0165: {
    name: "ReferencedInternalGateway",
    level: "Warning",
    description: "A VirtualService names a gateway that istiod generated.",
  },
  IST0166: {
    name: "IneffectiveSelector",
    level: "Warning",
    description: "A selector has no effect at a gateway of the Gateway API.",
  },
  IST0167: { name: "IneffectivePolicy", level: "Warning", description: "A policy has no effect." },
  IST0170: {
    name: "MultiClusterInconsistentService",
    level: "Warning",
    description: "A service differs between clusters.",
  },
  IST0171: {
    name: "NegativeConditionStatus",
    level: "Warning",
    description: "The status of an object has a condition that is false.",
  },
  IST0173: { name: "DestinationRuleSubsetNotSelectPods", level: "Error", description: "A subset selects no pod." },
  IST0174: {
    name: "UnknownDestinationRuleHost",
    level: "Warning",
    description: "The host of a DestinationRule matches no service.",
  },
  IST0175: {
    name: "JwksUriFetchUnrestricted",
    level: "Warning",
    description: "JWKS URIs are not restricted to trusted networks.",
  },
  IST0176: {
    name: "GatewayAPICRDVersionBelowMinimum",
    level: "Warning",
    description: "A CRD of the Gateway API is older than required.",
  },
  IST0177: {
    name: "ConflictingServiceEntryProtocol",
    level: "Warning",
    description: "ServiceEntries declare one host and port with different protocols.",
  },
  MESH0001: { name: "UnknownKind", level: "Error", description: "A document is of a kind that does not exist." },
  MESH0002: {
    name: "UnsupportedKind",
    level: "Warning",
    description: "An object is of a kind that is not supported yet.",
  },
  MESH0003: {
    name: "UnsupportedField",
    level: "Warning",
    description: "An object has a field that is not supported yet.",
  },
  MESH0004: {
    name: "NamespaceNotFound",
    level: "Warning",
    description: "The namespace of an object, or one that it names, does not exist.",
  },
  MESH0005: { name: "HostNotFound", level: "Warning", description: "A host resolves to no service." },
  MESH0006: {
    name: "DelegateNotFound",
    level: "Error",
    description: "A route delegates to a VirtualService that does not exist or cannot be delegated to.",
  },
  MESH0008: {
    name: "ProviderNotFound",
    level: "Error",
    description: "An extension provider is not defined in the mesh configuration.",
  },
  MESH0009: { name: "NoEndpoints", level: "Warning", description: "A service has no workloads and no endpoints." },
  MESH0010: { name: "SelectorMatchesNothing", level: "Warning", description: "A selector matches no workload." },
  MESH0011: {
    name: "ConflictingDestinationRules",
    level: "Warning",
    description: "Parts of a DestinationRule are overridden by another of the same host.",
  },
  MESH0012: {
    name: "ConflictingGatewayPorts",
    level: "Error",
    description: "A server of a Gateway conflicts with another server and is left out.",
  },
  MESH0013: {
    name: "ShadowedRoute",
    level: "Warning",
    description: "A route for every request is shadowed by one of another VirtualService.",
  },
  MESH0014: { name: "RuleNeverMatches", level: "Warning", description: "A rule or match can never apply." },
  MESH0015: {
    name: "PolicyDeniesEverything",
    level: "Info",
    description: "A policy denies every request to the workloads that it selects.",
  },
  MESH0016: { name: "NotExported", level: "Warning", description: "exportTo hides an object from where it is used." },
  MESH0017: {
    name: "ConflictingTls",
    level: "Error",
    description: "A DestinationRule sends traffic with TLS settings that the destination rejects.",
  },
  MESH0019: {
    name: "KeysNotAvailable",
    level: "Warning",
    description: "The keys of a token's issuer are not available, so that its tokens are rejected.",
  },
  MESH0020: {
    name: "UnsupportedByProxies",
    level: "Warning",
    description:
      "A part of an object is left out, because proxies would reject the configuration with it, or because it multiplies with others to more than a bound.",
  },
  MESH0021: {
    name: "KeysStale",
    level: "Warning",
    description: "The keys of a token's issuer cannot be refreshed, so that tokens with its new keys are rejected.",
  },
  MESH0022: {
    name: "IgnoredNetworkGateway",
    level: "Warning",
    description: "A Service is labeled as the gateway of a network in a namespace that may have none.",
  },
  MESH0023: {
    name: "AffectsOtherNamespaces",
    level: "Info",
    description: "An object changes the traffic to or through workloads of another namespace.",
  },
  MESH0024: {
    name: "ClusterNotAvailable",
    level: "Error",
    description: "A route leads to a cluster that some of its clients do not have.",
  },
  MESH0025: {
    name: "NoSuchWorkloadPort",
    level: "Warning",
    description: "A PeerAuthentication has a setting for a port that no selected workload has.",
  },
  MESH0026: {
    name: "SourcesWithoutRoute",
    level: "Info",
    description: "Clients that no match of a VirtualService includes take the default route of the host.",
  },
  MESH0027: {
    name: "PortLost",
    level: "Warning",
    description: "Clients lack a port of a host, because another declaration of the host applies to them.",
  },
  ...mistakeTypes,
  MESH0051: {
    name: "HttpNotDetected",
    level: "Warning",
    description: "A rule by HTTP attributes is about ports where HTTP is not detected.",
  },
  MESH0052: {
    name: "ProviderServiceNotFound",
    level: "Warning",
    description: "The service of an extension provider, or its port, does not exist.",
  },
  MESH0018: {
    name: "InvalidInjectionLabel",
    level: "Warning",
    description: "An injection label has a value without a meaning, or is on an object where it is not read.",
  },
} as const satisfies Readonly<Record<string, MessageType>>;

/** The code of a kind of finding. */
export type Code = keyof typeof messageTypes;

/** Severities from the worst down. */
export const levels: readonly Level[] = ["Error", "Warning", "Info"];
