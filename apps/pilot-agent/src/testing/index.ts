export { killAll, listTree, type ProcessInfo, stillRunning } from "./processes.js";
export { startInTerminal, type TerminalProcess } from "./terminal.js";
export { archiveOf, type ImageRegistry, type PushedImage, startImageRegistry } from "./image-registry.js";
