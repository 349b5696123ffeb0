export { commitYaml } from "./commit-yaml.js";
export { YamlMesh } from "./yaml-mesh.js";
