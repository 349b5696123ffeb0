export { node, type NodeOptions } from "./node.js";
