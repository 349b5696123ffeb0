export {
  type ClusterFaults,
  type DelayOptions,
  type DropMode,
  type FailOptions,
  type RequestFilter,
} from "./faults.js";
