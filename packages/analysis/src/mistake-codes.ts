import type { MessageType } from "./message-type.js";

/** Kinds of findings about traffic and security settings that are valid, and have another consequence than meant. */
export const mistakeTypes = {
  MESH0040: {
    name: "RoutesOfOtherProtocol",
    level: "Warning",
    description: "Routes are for a protocol that the ports of the host or the servers of the gateway do not have.",
  },
  MESH0041: {
    name: "NoSuchPort",
    level: "Warning",
    description: "A match or a setting is for a port that the host or the workload does not have.",
  },
  MESH0042: {
    name: "IneffectiveSetting",
    level: "Warning",
    description: "A valid setting changes nothing, because of another one or of its value.",
  },
  MESH0043: {
    name: "UnexpectedPath",
    level: "Warning",
    description: "A prefix is replaced so that the path gets two slashes, or loses one.",
  },
  MESH0044: {
    name: "HiddenServices",
    level: "Warning",
    description: "A Sidecar imports no service, or a part of its egress matches none.",
  },
  MESH0045: {
    name: "NoRequestAuthentication",
    level: "Warning",
    description: "An AuthorizationPolicy needs tokens, which no RequestAuthentication of its workloads verifies.",
  },
  MESH0046: {
    name: "HttpRuleForTcp",
    level: "Warning",
    description:
      "A rule of an AuthorizationPolicy with conditions on HTTP requests applies to ports with other protocols.",
  },
  MESH0047: {
    name: "ContradictoryHost",
    level: "Warning",
    description: "The location, protocol, ports or TLS settings of a host or workload contradict each other.",
  },
  MESH0048: {
    name: "HostCollision",
    level: "Warning",
    description: "A ServiceEntry declares the host of a Service.",
  },
  MESH0049: {
    name: "UnknownRevision",
    level: "Warning",
    description: "An object is for a revision of which no control plane is known.",
  },
  MESH0050: {
    name: "CorsPolicyMistake",
    level: "Warning",
    description: "A CORS policy allows no website, or every one with credentials.",
  },
  MESH0053: {
    name: "ServerWithoutRoute",
    level: "Info",
    description: "No VirtualService of a Gateway routes the hosts of one of its servers.",
  },
  MESH0054: {
    name: "ObjectOfOtherRevision",
    level: "Info",
    description: "An object belongs to another revision of the control plane, so that this one does not read it.",
  },
  MESH0060: {
    name: "CertificateNotServed",
    level: "Warning",
    description: "The certificate of an Ingress is not served for hosts that an older one serves with another one.",
  },
  MESH0061: {
    name: "UnusableKey",
    level: "Error",
    description: "The key of a credential is not that of its certificate, or proxies cannot use it.",
  },
  MESH0062: {
    name: "NotAccepted",
    level: "Error",
    description: "An object of the Gateway API, one of its listeners, or its attachment to a parent is not accepted.",
  },
  MESH0063: {
    name: "UnresolvedReference",
    level: "Error",
    description: "An object of the Gateway API refers to what does not exist, is not permitted, or is not supported.",
  },
  MESH0064: {
    name: "NotAttached",
    level: "Warning",
    description: "An object of the Gateway API has a parent or a class that istiod does not serve.",
  },
  MESH0065: {
    name: "PartWithoutEffect",
    level: "Warning",
    description: "A part of an accepted object of the Gateway API has no effect, or a less secure one than usual.",
  },
  MESH0066: {
    name: "PatchWithoutEffect",
    level: "Warning",
    description: "A patch of an EnvoyFilter matches no resource of the proxies that it is for, or is skipped.",
  },
  MESH0068: {
    name: "ProviderNotServed",
    level: "Warning",
    description:
      "A provider for traces or logs has no effect on proxies, because they lack the cluster of its service.",
  },
  MESH0070: {
    name: "ContradictoryPort",
    level: "Warning",
    description: "The name and the appProtocol of a Service's port select different protocols.",
  },
  MESH0075: {
    name: "CertificateOfOtherHosts",
    level: "Warning",
    description: "No certificate of a server or listener is for a host that it serves.",
  },
  MESH0076: {
    name: "RemoteClusterNotRead",
    level: "Warning",
    description: "A Secret of a remote cluster, or one of its kubeconfigs, is not used.",
  },
  MESH0077: {
    name: "SentLiterally",
    level: "Warning",
    description: "A value of a redirect, rewrite or TLS setting is sent as it is, although it has another form.",
  },
  MESH0067: {
    name: "NotAppliedByGrpc",
    level: "Info",
    description: "A setting is not applied by gRPC applications without a proxy, or not as proxies apply it.",
  },
} as const satisfies Readonly<Record<string, MessageType>>;
