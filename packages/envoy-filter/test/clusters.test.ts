import { describe, expect, it } from "vitest";
import { onCluster } from "./patches.js";

const merge = (value: object, match?: object, operation = "MERGE") => ({
  applyTo: "CLUSTER",
  operation,
  value,
  ...(match && { match: { cluster: match } }),
});
const cart = { name: "outbound|80|v1|cart.shop.svc.cluster.local", connectTimeout: "10.250s" };
const tlsContext = "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext";
const socket = (config: object, name = "tls") => ({ name, typedConfig: { "@type": tlsContext, ...config } });

describe("merging into a cluster", () => {
  it.each<[string, object, object, object]>([
    ["replaces a duration as a whole", {}, { connect_timeout: "5s" }, { connectTimeout: "5s" }],
    [
      "replaces a number",
      { perConnectionBufferLimitBytes: 1 },
      { per_connection_buffer_limit_bytes: 2 },
      { perConnectionBufferLimitBytes: 2 },
    ],
    [
      "merges messages by field",
      { upstreamConnectionOptions: { tcpKeepalive: { keepaliveTime: 1 } } },
      { upstream_connection_options: { tcp_keepalive: { keepalive_probes: 2 } } },
      { upstreamConnectionOptions: { tcpKeepalive: { keepaliveTime: 1, keepaliveProbes: 2 } } },
    ],
    [
      "appends to lists",
      { circuitBreakers: { thresholds: [{ maxRetries: 1 }] } },
      { circuit_breakers: { thresholds: [{ max_retries: 2 }] } },
      { circuitBreakers: { thresholds: [{ maxRetries: 1 }, { maxRetries: 2 }] } },
    ],
    [
      "replaces entries of maps, and fields of structs",
      { metadata: { filterMetadata: { a: { x: 1, y: 1 }, b: { z: 1 } } } },
      { metadata: { filter_metadata: { a: { x: 2 } } } },
      { metadata: { filterMetadata: { a: { x: 2 }, b: { z: 1 } } } },
    ],
    [
      "replaces another case of a oneof",
      { type: "EDS" },
      { cluster_type: { name: "a" } },
      { clusterType: { name: "a" } },
    ],
    // As in Istio: a wrapper with the zero value is merged into the wrapper, which changes nothing.
    [
      "does not reset a wrapper",
      { outlierDetection: { splitExternalLocalOriginErrors: true, consecutive5xx: 5 } },
      { outlier_detection: { split_external_local_origin_errors: false, consecutive_5xx: 0 } },
      { outlierDetection: { splitExternalLocalOriginErrors: true, consecutive5xx: 5 } },
    ],
  ])("%s", (_, before, value, after) => {
    expect(onCluster({ ...cart, ...before } as never, [merge(value)])).toEqual({
      json: { ...cart, ...after },
      effects: [{ patch: "0" }],
    });
  });

  it("replaces lists if told to, at any depth", () => {
    const before = {
      ...cart,
      circuitBreakers: { thresholds: [{ maxRetries: 1 }], perHostThresholds: [{ maxConnections: 1 }] },
    };
    const patch = merge(
      { circuit_breakers: { thresholds: [{ max_retries: 2 }] } },
      undefined,
      "MERGE_AND_REPLACE_LIST",
    );
    expect(onCluster(before, [patch]).json).toEqual({
      ...cart,
      circuitBreakers: { thresholds: [{ maxRetries: 2 }], perHostThresholds: [{ maxConnections: 1 }] },
    });
  });
});

describe("transport sockets", () => {
  it("are merged into the one of the same name, and nothing else of the patch is", () => {
    const before = { ...cart, transportSocket: socket({ sni: "a", allowRenegotiation: true }) };
    const patch = merge({ connect_timeout: "1s", transport_socket: socket({ sni: "b" }) });
    expect(onCluster(before, [patch]).json).toEqual({
      ...cart,
      transportSocket: socket({ sni: "b", allowRenegotiation: true }),
    });
  });

  it("replace one of another name", () => {
    const patch = merge({ transport_socket: socket({ sni: "b" }, "other") });
    expect(onCluster({ ...cart, transportSocket: socket({ sni: "a" }) }, [patch]).json).toEqual({
      ...cart,
      transportSocket: socket({ sni: "b" }, "other"),
    });
  });

  it("are merged into the first match that has the name, and dropped if none has", () => {
    const matches = { transportSocketMatches: [{ name: "x", transportSocket: socket({ sni: "a" }) }] };
    expect(onCluster({ ...cart, ...matches }, [merge({ transport_socket: socket({ sni: "b" }) })]).json).toEqual({
      ...cart,
      transportSocketMatches: [{ name: "x", transportSocket: socket({ sni: "b" }) }],
    });
    const other = merge({ transport_socket: socket({ sni: "b" }, "other") });
    expect(onCluster({ ...cart, ...matches }, [other]).json).toEqual({ ...cart, ...matches });
  });

  it("of another type fail alone", () => {
    const raw = {
      name: "tls",
      typed_config: { "@type": "type.googleapis.com/envoy.extensions.transport_sockets.raw_buffer.v3.RawBuffer" },
    };
    const before = { ...cart, transportSocket: socket({ sni: "a" }) };
    expect(onCluster(before, [merge({ transport_socket: raw }), merge({ connect_timeout: "1s" })])).toEqual({
      json: { ...before, connectTimeout: "1s" },
      effects: [
        {
          patch: "0",
          failure:
            "typed_config is envoy.extensions.transport_sockets.raw_buffer.v3.RawBuffer, expected envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext as in the configuration",
        },
        { patch: "1" },
      ],
    });
  });
});

it.each<[object, boolean]>([
  [{}, true],
  [{ service: "cart.shop.svc.cluster.local", portNumber: 80, subset: "v1" }, true],
  [{ service: "shop.svc.cluster.local" }, false],
  [{ portNumber: 81 }, false],
  [{ subset: "v2" }, false],
  [{ name: cart.name, portNumber: 81 }, true],
  [{ name: "cart", portNumber: 80 }, false],
])("a patch that matches %j applies: %s", (match, applies) => {
  expect(onCluster(cart, [merge({ alt_stat_name: "x" }, match)]).effects).toEqual(applies ? [{ patch: "0" }] : []);
});

it("an inbound cluster is matched by the hosts of its services", () => {
  const patch = merge({ alt_stat_name: "x" }, { service: "cart.shop", portNumber: 8080 });
  const inbound = { name: "inbound|8080||" };
  expect(onCluster(inbound, [patch], ["a", "cart.shop"]).effects).toEqual([{ patch: "0" }]);
  expect(onCluster(inbound, [patch]).effects).toEqual([]);
});

it("a removed cluster gets no later patch", () => {
  expect(onCluster(cart, [{ applyTo: "CLUSTER", operation: "REMOVE" }, merge({ alt_stat_name: "x" })])).toEqual({
    json: undefined,
    effects: [{ patch: "0" }],
  });
});
