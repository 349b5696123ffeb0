export { type Answer, type Application, type ApplicationOptions, type Seen, startApplication } from "./application.js";
export { type Answered, call, type CallOptions } from "./call.js";
export { eventually } from "./eventually.js";
export { type LogLine, whyNoProcess } from "./istiod.js";
export { type Mesh, type MeshOptions, startMesh, whyNoEnvoy } from "./mesh.js";
export { type Workload, type WorkloadOptions } from "./workload.js";
