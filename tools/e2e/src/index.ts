export { type Answer, type Application, type ApplicationOptions, type Seen, startApplication } from "./application.js";
export { type Answered, call, type CallOptions } from "./call.js";
export { eventually } from "./eventually.js";
export { type LogLine, whyNoProcess } from "./istiod.js";
export { type Mesh, type MeshOptions, startMesh, whyNoEnvoy } from "./mesh.js";
export { type Workload, type WorkloadOptions } from "./workload.js";
export { certificateFor, type TestCertificates } from "./certificates.js";
export { type BareEnvoy, type Refusal, startBareEnvoy } from "./bare-envoy.js";
export { endpointAsker, filterAsker, renamed, routeAsker, unbound } from "./askers.js";
export { type Sample, startSample } from "./sample.js";
export { type EnvoyProcess, type EnvoyProcessOptions, startEnvoyProcess } from "./envoy-process.js";
export { startXdsRelay, type XdsRelay, type XdsRelayOptions } from "./xds-relay.js";
export { claimSubnet, type Subnet } from "./subnet.js";
export {
  startRedirectedMesh,
  type RedirectedMesh,
  type RedirectedMeshOptions,
  type RedirectedWorkload,
} from "./redirected/redirected-mesh.js";
export { makePodNetwork, type PodNetwork, whyNoRedirection } from "./redirected/pod-network.js";
export { whyNoPods } from "./redirected/pod.js";
