export { commitYaml } from "./commit-yaml.js";
export { YamlMesh } from "./yaml-mesh.js";
export { documents, istio, service, type ServiceOptions, type Workload, workloads } from "./yaml-objects.js";
export { servicesWithPods } from "./services-with-pods.js";
