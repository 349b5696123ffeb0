export { type MeshObject } from "./cluster/cluster-objects.js";
export { startInMemoryCluster } from "./cluster/in-memory-cluster.js";
export { base64, istiodUser, kubeconfigOf } from "./cluster/kubeconfig.js";
export { startRealCluster } from "./cluster/real-cluster.js";
export { type TestCluster } from "./cluster/test-cluster.js";
export { eventually } from "./eventually.js";
export { describeLoss, type Loss, LossMonitor } from "./fleet/loss-monitor.js";
