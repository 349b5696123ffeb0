/*
 * Decoding of messages from JSON as Istio's programs do, without the kinds of objects: for programs that need nothing
 * else, such as the agent.
 */
export { decodeTolerantly } from "./decode-tolerantly.js";
export { readsAlike } from "./go-json.js";
export { formatPath, type FieldPath, type Report } from "./report.js";
