// A client and a server of proxyless gRPC. See ../README.md for what they read and write.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";
import * as grpc from "@grpc/grpc-js";
import * as xds from "@grpc/grpc-js-xds";

const path = "/test.Echo/Say";
const same = (bytes: Buffer): Buffer => bytes;

/** A line of the standard input: calls to make, one after another. */
interface CallRequest {
  readonly count: number;
  /** Targets of which each is called once, all at the same time. */
  readonly targets?: readonly string[];
  readonly metadata?: Readonly<Record<string, string>>;
  /** Milliseconds. */
  readonly deadline: number;
}

interface CallResult {
  readonly code: number;
  readonly answer: string;
  /** Milliseconds. */
  readonly duration: number;
}

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    listen: { type: "string", default: "" },
    name: { type: "string", default: "" },
    target: { type: "string", default: "" },
    xds: { type: "boolean", default: false },
    secure: { type: "boolean", default: false },
  },
});

xds.register();
switch (positionals[0]) {
  case "version":
    console.log(`${versionOf("@grpc/grpc-js-xds")} with grpc-js ${versionOf("@grpc/grpc-js")}`);
    break;
  case "serve":
    serve();
    break;
  case "call":
    await call();
    break;
  default:
    throw new Error("usage: probe version | serve | call");
}

function versionOf(name: string): string {
  const entry = createRequire(import.meta.url).resolve(name);
  const file = `${entry.slice(0, entry.lastIndexOf(name) + name.length)}/package.json`;
  return (JSON.parse(readFileSync(file, "utf8")) as { version: string }).version;
}

/** Answers with a name. With the metadata `fail: CODE/N/KEY`, the first N calls of a key fail. */
function serve(): void {
  const calls = new Map<string, number>();
  const server = values.xds ? new xds.XdsServer() : new grpc.Server();
  server.addService(
    {
      Say: {
        path,
        requestStream: false,
        responseStream: false,
        requestSerialize: same,
        requestDeserialize: same,
        responseSerialize: same,
        responseDeserialize: same,
      },
    },
    {
      Say: (incoming: grpc.ServerUnaryCall<Buffer, Buffer>, respond: grpc.sendUnaryData<Buffer>) => {
        const [fail] = incoming.metadata.get("fail");
        if (fail !== undefined) {
          const [code, times, key = ""] = String(fail).split("/");
          const made = (calls.get(key) ?? 0) + 1;
          calls.set(key, made);
          if (made <= Number(times)) {
            respond({ code: Number(code), details: "as requested" });
            return;
          }
        }
        const [sleep = 0] = incoming.metadata.get("sleep");
        setTimeout(() => respond(null, Buffer.from(values.name)), Number(sleep));
      },
    },
  );
  const plaintext = grpc.ServerCredentials.createInsecure();
  const credentials = values.secure ? new xds.XdsServerCredentials(plaintext) : plaintext;
  server.bindAsync(values.listen, credentials, (error) => console.log(error === null ? "serving" : String(error)));
}

async function call(): Promise<void> {
  const plaintext = grpc.credentials.createInsecure();
  const credentials = values.secure ? new xds.XdsChannelCredentials(plaintext) : plaintext;
  const clients = new Map<string, grpc.Client>();
  const clientOf = (target: string): grpc.Client => {
    const client = clients.get(target) ?? new grpc.Client(target, credentials);
    clients.set(target, client);
    return client;
  };
  for await (const line of createInterface({ input: process.stdin })) {
    const request = JSON.parse(line) as CallRequest;
    const results = await Promise.all((request.targets ?? []).map((target) => once(clientOf(target), request)));
    for (let i = 0; i < request.count; i++) results.push(await once(clientOf(values.target), request));
    console.log(JSON.stringify(results));
  }
  for (const client of clients.values()) client.close();
}

function once(client: grpc.Client, { metadata = {}, deadline }: CallRequest): Promise<CallResult> {
  const start = Date.now();
  const sent = new grpc.Metadata();
  for (const [key, value] of Object.entries(metadata)) sent.set(key, value);
  return new Promise((resolve) => {
    const options = { deadline: start + deadline };
    client.makeUnaryRequest(path, same, same, Buffer.from("hello"), sent, options, (error, answer) => {
      resolve({
        code: error?.code ?? 0,
        answer: error?.details ?? answer?.toString() ?? "",
        duration: Date.now() - start,
      });
    });
  });
}
