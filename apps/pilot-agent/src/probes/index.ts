export { type HttpProbe, type HttpResponse, probeHttp } from "./http-probe.js";
export type { ProbeTarget } from "./probe.js";
