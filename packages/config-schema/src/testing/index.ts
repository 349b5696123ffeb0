export { commitYaml } from "./commit-yaml.js";
export { YamlMesh } from "./yaml-mesh.js";
export { servicesWithPods } from "./services-with-pods.js";
