export { podProxies, podProxy, proxyNamed } from "./pod-proxies.js";
