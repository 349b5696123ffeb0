export { clusters } from "./clusters.js";
