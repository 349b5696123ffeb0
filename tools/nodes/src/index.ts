export { type Image, type Images, readImages } from "./agent/images.js";
export type { Machine, Program } from "./machine/machine.js";
export { startSidecar } from "./machine/start-sidecar.js";
export { type WorkloadFiles, workloadFiles } from "./machine/workload-files.js";
export { type GrpcPodsOptions, type GrpcTemplate, runGrpcPods } from "./sample/grpc-pods.js";
export { type AnyObject, ObjectApplier } from "./sample/apply-objects.js";
export { installIstiod, type SampleOptions } from "./sample/install-bookinfo.js";
export { nodesUnavailable } from "./nodes-unavailable.js";
export { type Nodes, type NodesOptions, startNodes } from "./start-nodes.js";
