export { SimulatedProxy, type SimulatedProxyOptions } from "./client/simulated-proxy.js";
export { type Column, lines } from "./fleet/table.js";
export { type Tokens, writeTokens } from "./fleet/tokens.js";
export { apply, writeObjects } from "./mesh/directory.js";
export { Mesh, type MeshOptions } from "./mesh/mesh.js";
export { nodeOf, type ProxyPlace } from "./mesh/proxies.js";
export { positive, runCommand } from "./options.js";
export { type IstiodOptions, type IstiodProcess, startIstiod } from "./server/istiod-process.js";
export { cpuSeconds, memory } from "./server/usage.js";
