import type { MeshObject } from "@istiod/gateway-api/testing";
import fc from "fast-check";
import { destinationRules } from "./destination-rule.js";
import { envoyFilters } from "./patches.js";
import { authorizationPolicies, peerAuthentications, requestAuthentications } from "./policies.js";
import { gateways, serviceEntries, sidecars, workloadEntries } from "./scope.js";
import { virtualServices } from "./virtual-service.js";

/** Objects of Istio's APIs for traffic and security in `gatewayMesh`. Many refer to what is absent or not exported. */
export const randomTraffic: fc.Arbitrary<readonly MeshObject[]> = fc
  .tuple(
    serviceEntries,
    workloadEntries,
    virtualServices,
    destinationRules,
    sidecars,
    gateways,
    peerAuthentications,
    authorizationPolicies,
    requestAuthentications,
  )
  .map((lists) => lists.flat());

/** The same with EnvoyFilters. */
export const randomPatches: fc.Arbitrary<readonly MeshObject[]> = fc
  .tuple(randomTraffic, envoyFilters)
  .map((lists) => lists.flat());
