export type {
  BoundServer,
  GatewayServer,
  GatewayServerPort,
  MergedGateway,
  RefusedServer,
  ServerGroup,
} from "./gateway-server.js";
export { mergeServers, type SelectedGateway } from "./merge-servers.js";
export { clientServices } from "./client-services.js";
export { refersToCredential } from "./credential-references.js";
export { mergedGateway, serversOfRoute } from "./merged-gateway.js";
export { passesTlsThrough, seesHttp, speaksTls, terminatesHttps, terminatesTcp } from "./server-kind.js";
