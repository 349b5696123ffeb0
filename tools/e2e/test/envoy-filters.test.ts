import { createServer } from "node:http2";
import type { AddressInfo } from "node:net";
import { create } from "@bufbuild/protobuf";
import type { ConnectRouter } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { type Mesh, startMesh, whyNoEnvoy } from "@istiod/e2e";
import {
  ExternalProcessor,
  ProcessingResponseSchema,
} from "@istiod/envoy-api/envoy/service/ext_proc/v3/external_processor";
import {
  RateLimitResponse_Code as Code,
  RateLimitResponseSchema,
  RateLimitService,
} from "@istiod/envoy-api/envoy/service/ratelimit/v3/rls";
import { Closers } from "@istiod/runtime";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";

const reason = await whyNoEnvoy();

const filterTypes = "type.googleapis.com/envoy.extensions.filters.http";
const services = "a-services";

/** A rate limit service and an external processor at one port, with the descriptors that were asked for. */
async function startServices(closers: Closers): Promise<{ readonly port: number; readonly asked: readonly string[] }> {
  const asked: string[] = [];
  const routes = (router: ConnectRouter): ConnectRouter =>
    router
      .service(RateLimitService, {
        shouldRateLimit({ domain, descriptors }) {
          const entries = descriptors.flatMap(({ entries: each }) => each.map(({ key, value }) => `${key}=${value}`));
          asked.push(`${domain} ${entries.join(",")}`);
          const isOver = entries.includes("user=heavy");
          return create(RateLimitResponseSchema, { overallCode: isOver ? Code.OVER_LIMIT : Code.OK });
        },
      })
      .service(ExternalProcessor, {
        async *process(requests) {
          for await (const { request } of requests) {
            if (request.case === "requestHeaders") yield added("requestHeaders", "x-processed", "request");
            else if (request.case === "responseHeaders") yield added("responseHeaders", "x-processed", "response");
          }
        },
      });
  const server = createServer(connectNodeAdapter({ routes }));
  const sessions = new Set<{ destroy(): void }>();
  server.on("session", (session) => sessions.add(session));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closers.defer(() => {
    for (const session of sessions) session.destroy();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, asked };
}

function added(part: "requestHeaders" | "responseHeaders", key: string, text: string) {
  const header = { header: { key, rawValue: Buffer.from(text) } };
  return create(ProcessingResponseSchema, {
    response: { case: part, value: { response: { headerMutation: { setHeaders: [header] } } } },
  });
}

const envoyFilter = (name: string, spec: object): string =>
  `---\n${JSON.stringify({
    apiVersion: "networking.istio.io/v1alpha3",
    kind: "EnvoyFilter",
    metadata: { name, namespace: "shop" },
    spec,
  })}\n`;

const cluster = (port: number): object => ({
  applyTo: "CLUSTER",
  patch: {
    operation: "ADD",
    value: {
      name: services,
      type: "STATIC",
      connect_timeout: "5s",
      typed_extension_protocol_options: {
        "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": {
          "@type": "type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions",
          explicit_http_config: { http2_protocol_options: {} },
        },
      },
      load_assignment: {
        cluster_name: services,
        endpoints: [
          {
            lb_endpoints: [{ endpoint: { address: { socket_address: { address: "127.0.0.1", port_value: port } } } }],
          },
        ],
      },
    },
  },
});

const beforeRouter = (type: string, config: object): object => ({
  applyTo: "HTTP_FILTER",
  match: {
    context: "SIDECAR_INBOUND",
    listener: {
      filterChain: {
        filter: {
          name: "envoy.filters.network.http_connection_manager",
          subFilter: { name: "envoy.filters.http.router" },
        },
      },
    },
  },
  patch: {
    operation: "INSERT_BEFORE",
    value: { name: `a.${type}`, typed_config: { "@type": `${filterTypes}.${type}`, ...config } },
  },
});

const grpc = { envoy_grpc: { cluster_name: services }, timeout: "5s" };

const filters = (port: number): string =>
  envoyFilter("limited", {
    workloadSelector: { labels: { app: "limited" } },
    configPatches: [
      cluster(port),
      beforeRouter("ratelimit.v3.RateLimit", {
        domain: "shop",
        failure_mode_deny: true,
        timeout: "5s",
        rate_limit_service: { grpc_service: grpc, transport_api_version: "V3" },
      }),
      {
        applyTo: "HTTP_ROUTE",
        match: { context: "SIDECAR_INBOUND" },
        patch: {
          operation: "MERGE",
          value: {
            route: {
              rate_limits: [{ actions: [{ request_headers: { header_name: "x-user", descriptor_key: "user" } }] }],
            },
          },
        },
      },
    ],
  }) +
  envoyFilter("processed", {
    workloadSelector: { labels: { app: "processed" } },
    configPatches: [
      cluster(port),
      beforeRouter("ext_proc.v3.ExternalProcessor", {
        grpc_service: grpc,
        message_timeout: "5s",
        processing_mode: { request_header_mode: "SEND", response_header_mode: "SEND" },
      }),
    ],
  }) +
  envoyFilter("mutated", {
    workloadSelector: { labels: { app: "mutated" } },
    configPatches: [
      beforeRouter("header_mutation.v3.HeaderMutation", {
        mutations: {
          request_mutations: [{ remove: "x-secret" }, { append: { header: { key: "x-mutated", value: "request" } } }],
          response_mutations: [{ append: { header: { key: "x-mutated", value: "response" } } }],
        },
      }),
    ],
  });

describe("a filter of an EnvoyFilter, in traffic", () => {
  beforeEach(({ skip }) => skip(reason !== undefined, reason));
  const closers = new Closers();
  let mesh: Mesh;
  let asked: readonly string[] = [];
  beforeAll(async () => {
    if (reason) return;
    const running = await startServices(closers);
    asked = running.asked;
    const apps = ["client", "limited", "processed", "mutated"];
    mesh = await startMesh({ objects: filters(running.port), workloads: apps.map((app) => ({ app })) });
    closers.defer(() => mesh.close());
  }, 90_000);
  afterAll(() => closers.close());

  it("limits the rate of requests by a gRPC service that gets the descriptors", async () => {
    const by = async (user: string): Promise<number> =>
      (await mesh.call("client", "http://limited:8000/", { headers: { "x-user": user } })).status;
    expect([await by("light"), await by("heavy")]).toEqual([200, 429]);
    expect(asked).toEqual(["shop user=light", "shop user=heavy"]);
    expect(mesh.seen("limited")).toHaveLength(1);
  });

  it("lets an external processor change headers of requests and responses", async () => {
    const { status, headers, seen } = await mesh.call("client", "http://processed:8000/");
    expect([status, seen?.headers["x-processed"], headers["x-processed"]]).toEqual([200, "request", "response"]);
  });

  it("adds and removes headers", async () => {
    const { status, headers, seen } = await mesh.call("client", "http://mutated:8000/", {
      headers: { "x-secret": "a" },
    });
    expect([status, seen?.headers["x-mutated"], headers["x-mutated"]]).toEqual([200, "request", "response"]);
    expect(seen?.headers["x-secret"]).toBeUndefined();
  });

  it("was accepted by all proxies", () => expect(mesh.refusals()).toEqual([]));
});
