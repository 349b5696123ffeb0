export { type GrpcProbe, probeGrpc } from "./grpc-probe.js";
export { type HttpProbe, type HttpResponse, probeHttp } from "./http-probe.js";
export { probeTcp, type ProbeTarget } from "./probe.js";
