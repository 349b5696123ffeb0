import { both, type Cause } from "@istiod/parity";
import type { ComparedType, CompareContext } from "./compare-context.js";
import {
  withoutAliases,
  withoutClientCertificate,
  withoutHostname,
  withoutHttp2,
  withoutInvalidRoots,
  withoutMisdirected,
  withoutOrder,
  withoutOtherRoots,
  withoutPickers,
  withoutOwnCertificate,
  withoutSameMatches,
} from "./resource-causes.js";
import {
  withIstioMessages,
  withOwnConditions,
  withoutExistence,
  withoutFormerReferences,
  withoutFormerSets,
  withoutPoolParents,
  withoutRootsOfGateway,
} from "./status-causes.js";

type GatewayCause = Cause<ComparedType, CompareContext>;

/** The differences on purpose that docs/parity.md lists, in the order in which they are tried. */
export const causes: readonly GatewayCause[] = [
  { name: "targets of a BackendTLSPolicy have their own conditions", type: "status", without: withOwnConditions },
  { name: "the existence of a client certificate is not told", type: "status", without: withoutExistence },
  { name: "references of conflicted listeners", type: "status", without: withoutFormerReferences },
  { name: "ListenerSets that were attached", type: "status", without: withoutFormerSets },
  { name: "roots of a Gateway at its ListenerSets", type: "status", without: withoutRootsOfGateway },
  { name: "Gateways of an InferencePool", type: "status", without: withoutPoolParents },
  { name: "additions to messages", type: "status", without: withIstioMessages },
  { name: "BackendTLSPolicies without names", type: "cds", without: withoutHostname },
  { name: "HTTP/2 of GRPCRoutes with BackendTLSPolicies", type: "cds", without: withoutHttp2 },
  { name: "client certificates of Gateways", type: "cds", without: withoutClientCertificate },
  { name: "roots that cannot be used", type: "cds", without: withoutInvalidRoots },
  { name: "some certificates are not valid", type: "lds", without: withoutOwnCertificate },
  { name: "roots of a Gateway at listeners of its ListenerSets", type: "lds", without: withoutOtherRoots },
  { name: "filter chains that match the same", type: "lds", without: withoutSameMatches },
  { name: "answers to misdirected requests", type: "rds", without: withoutMisdirected },
  { name: "aliases", type: "rds", without: withoutAliases },
  { name: "endpoint pickers at sidecars", type: "rds", without: withoutPickers },
  { name: "order of hostnames", type: "rds", without: both(withoutOrder) },
];
