export { type MeshObject } from "./random-fields.js";
export { gatewayMesh, gatewayMeshProxies, toYaml } from "./random-mesh.js";
export { randomObjects } from "./random-objects.js";
