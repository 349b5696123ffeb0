export { type MeshObject, namespaces, optional, rare, some, unique, usual } from "./random-fields.js";
export { gatewayMesh, gatewayMeshProxies, gatewayPorts, service, toYaml } from "./random-mesh.js";
export { randomObjects } from "./random-objects.js";
