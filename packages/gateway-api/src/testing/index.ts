export { type MeshObject } from "./random-fields.js";
export { gatewayMesh, gatewayMeshProxies, gatewayPorts, service, toYaml } from "./random-mesh.js";
export { randomObjects } from "./random-objects.js";
