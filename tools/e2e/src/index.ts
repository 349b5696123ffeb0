export {
  type Answer,
  type Application,
  type ApplicationOptions,
  type Seen,
  startApplication,
} from "./mesh/application.js";
export { type Answered, call, type CallOptions } from "./mesh/call.js";
export { callHttp2 } from "./mesh/call-http2.js";
export { eventually } from "./eventually.js";
export { type LogLine, refusalsIn as rejectionsIn, startIstiodInProcess, whyNoProcess } from "./istiod/istiod.js";
export { type Mesh, type MeshOptions, startMesh } from "./mesh/mesh.js";
export { requireEnvoy, whyNoEnvoy } from "./envoy/require-envoy.js";
export { type Workload, type WorkloadOptions } from "./mesh/workload.js";
export { certificateFor, type TestCertificates } from "./certificates.js";
export { type BareEnvoy, type Refusal, startBareEnvoy } from "./envoy/bare-envoy.js";
export { answeringModule } from "./envoy/wasm-module.js";
export { endpointAsker, filterAsker, renamed, routeAsker, unbound } from "./envoy/askers.js";
export { type Sample, startSample } from "./mesh/sample.js";
export { type EnvoyProcess, type EnvoyProcessOptions, startEnvoyProcess } from "./envoy/envoy-process.js";
export { startXdsRelay, type XdsRelay, type XdsRelayOptions } from "./envoy/xds-relay.js";
export { Balancer, type Endpoint } from "./balancer.js";
export { IsolationRig } from "./isolation/isolation-rig.js";
export { brokenPromises, randomOf, runSequence, type SequenceResult } from "./isolation/run-sequence.js";
export { MountedFiles } from "./mounted-files.js";
export { claimSubnet, type Subnet } from "./mesh/subnet.js";
export {
  startRedirectedMesh,
  type RedirectedMesh,
  type RedirectedMeshOptions,
  type RedirectedWorkload,
} from "./redirected/redirected-mesh.js";
export { makePodNetwork, type PodNetwork, type RulesOf, whyNoRedirection } from "./redirected/pod-network.js";
export { type Pod, startPod, whyNoPods } from "./redirected/pod.js";
export { RouteChangesRig, type RouteChangesOptions } from "./route-changes/route-changes-rig.js";
export { type RouteStage, routeStages, runStage, type StageResult } from "./route-changes/run-stage.js";
export { rotationEvents, type RotationEvent } from "./rotation/events.js";
export { RotationRig, type RotationOptions } from "./rotation/rotation-rig.js";
export { failuresOf as rotationFailures, runEvent as runRotationEvent } from "./rotation/run-event.js";
export { Receiver } from "./receiver.js";
export { type Prometheus, type ScrapedTarget, type Series, startPrometheus, whyNoPrometheus } from "./prometheus.js";
export {
  type Collector,
  type ReceivedLog,
  type ReceivedSpan,
  startCollector,
  startZipkin,
  whyNoCollector,
  whyNoJava,
  whyNoZipkin,
  type Zipkin,
} from "./telemetry-receivers.js";
