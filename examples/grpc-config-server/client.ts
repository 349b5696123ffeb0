import * as grpc from "@grpc/grpc-js";
import * as xds from "@grpc/grpc-js-xds";

const backend = process.env["BACKEND"] ?? "127.0.0.1:50051";
const server_uri = `127.0.0.1:${process.env["PORT"] ?? "18000"}`;
process.env["GRPC_XDS_BOOTSTRAP_CONFIG"] = JSON.stringify({
  xds_servers: [{ server_uri, channel_creds: [{ type: "insecure" }], server_features: ["xds_v3"] }],
  node: { id: "client-1", locality: {} },
});
xds.register();

// A service of one method, whose messages are plain text.
const text = { serialize: (value: string) => Buffer.from(value), deserialize: (bytes: Buffer) => bytes.toString() };
const greet = {
  path: "/Greeter/Greet",
  requestStream: false,
  responseStream: false,
  requestSerialize: text.serialize,
  requestDeserialize: text.deserialize,
  responseSerialize: text.serialize,
  responseDeserialize: text.deserialize,
};
const server = new grpc.Server();
server.addService(
  { greet },
  {
    greet: (call: grpc.ServerUnaryCall<string, string>, done: grpc.sendUnaryData<string>) =>
      done(null, `Hello, ${call.request}, from the backend at ${backend}`),
  },
);
await new Promise((resolve) => server.bindAsync(backend, grpc.ServerCredentials.createInsecure(), resolve));

// The client knows the name only; the config server says where it leads.
const client = new grpc.Client("xds:///greeter", grpc.credentials.createInsecure());
const deadline = Date.now() + 20_000;
client.makeUnaryRequest(greet.path, text.serialize, text.deserialize, "Ann", { deadline }, (error, answer) => {
  console.log(error?.message ?? answer);
  process.exit(error ? 1 : 0);
});
