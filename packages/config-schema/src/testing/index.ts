export { commitYaml } from "./commit-yaml.js";
