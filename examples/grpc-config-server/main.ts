import { clusterType, endpointType, listenerType, routeType, serve, staticSource } from "@istiod/xds-server";
import { cluster, endpoints, listener, routes } from "./resources.js";

const [address = "", port] = (process.env["BACKEND"] ?? "127.0.0.1:50051").split(":");
const source = staticSource({
  [listenerType]: [listener("greeter")],
  [routeType]: [routes("greeter")],
  [clusterType]: [cluster("greeter")],
  [endpointType]: [endpoints("greeter", address, Number(port))],
});
const server = await serve(source, { host: "127.0.0.1", port: Number(process.env["PORT"] ?? 18000) });
console.log(`serving gRPC clients at ${server.host}:${server.port}`);
