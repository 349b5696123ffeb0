import fc from "fast-check";
import { peerAuthentication, requestAuthentication } from "./kinds/authentication.js";
import { authorizationPolicy } from "./kinds/authorization-policies.js";
import { destinationRule } from "./kinds/destination-rules.js";
import { envoyFilter, trafficExtension, wasmPlugin } from "./kinds/extensions.js";
import { gateway, sidecar } from "./kinds/gateways.js";
import { ingress, service } from "./kinds/kubernetes.js";
import { type Manifest } from "./kinds/manifest.js";
import { serviceEntry } from "./kinds/service-entries.js";
import { telemetry } from "./kinds/telemetries.js";
import { virtualService } from "./kinds/virtual-services.js";

export const hostileObject: fc.Arbitrary<Manifest> = fc.oneof(
  { weight: 24, arbitrary: virtualService },
  { weight: 4, arbitrary: destinationRule },
  { weight: 4, arbitrary: serviceEntry },
  { weight: 12, arbitrary: gateway },
  { weight: 5, arbitrary: sidecar },
  { weight: 3, arbitrary: authorizationPolicy },
  { weight: 2, arbitrary: requestAuthentication },
  { weight: 2, arbitrary: telemetry },
  { weight: 1, arbitrary: peerAuthentication },
  { weight: 2, arbitrary: service },
  { weight: 1, arbitrary: ingress },
  { weight: 4, arbitrary: trafficExtension },
  { weight: 3, arbitrary: wasmPlugin },
  { weight: 6, arbitrary: envoyFilter },
);
