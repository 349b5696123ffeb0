import { type FieldTable, istioObject } from "./field-table.js";

const long = (length: number): string => "x".repeat(length);
const sockets = {
  accepted: ["unix:///a", "unix://@a", `unix:///${long(106)}`],
  refused: [`unix:///${long(107)}`, `unix:///${"é".repeat(54)}`],
  refusedByApi: ["unix://a", "unix:///a/", "unix:///a\0b", `unix://@${long(107)}`],
};

const ports = [{ number: 80, name: "http", protocol: "HTTP" }];

export const addresses: readonly FieldTable[] = [
  {
    part: "an endpoint of a ServiceEntry",
    positions: {
      STATIC: {
        objects: (endpoint) => [
          istioObject("ServiceEntry", { hosts: ["b.example.com"], ports, resolution: "STATIC", endpoints: [endpoint] }),
        ],
        path: "endpoints.0",
      },
    },
    rows: [
      {
        field: "address",
        ...sockets,
        accepted: [...sockets.accepted, "192.0.2.1", "2001:db8::1"],
        refusedByApi: [...sockets.refusedByApi, "a.example.com", "192.0.2.1\n", "192.0.2.1/32", ""],
      },
      {
        field: "weight",
        beside: { address: "192.0.2.1" },
        accepted: [0, 1, 4_294_967_295],
        refusedByApi: [-1, 4_294_967_296, "0x10"],
      },
      { field: "ports.http", beside: { address: "192.0.2.1" }, accepted: [1, 65_535], refusedByApi: [0, 65_536] },
    ],
  },
  {
    part: "a WorkloadEntry",
    positions: { "its namespace": { objects: (spec) => [istioObject("WorkloadEntry", spec)], path: "" } },
    rows: [
      {
        field: "address",
        accepted: [...sockets.accepted, "192.0.2.1", "a.example.com"],
        refusedByApi: [...sockets.refused, ...sockets.refusedByApi, "a b", long(300)],
      },
    ],
  },
  {
    part: "an ingress listener of a Sidecar",
    positions: {
      Sidecar: {
        objects: (listener) => [
          istioObject("Sidecar", {
            workloadSelector: { labels: { app: "cart" } },
            ingress: [{ port: { number: 8080, protocol: "HTTP", name: "http" }, ...listener }],
          }),
        ],
        path: "ingress.0",
      },
    },
    rows: [
      {
        field: "defaultEndpoint",
        ...sockets,
        accepted: [...sockets.accepted, "127.0.0.1:80", ":80", "[::1]:65535"],
        refusedByApi: [...sockets.refusedByApi, "127.0.0.1:0", "127.0.0.1:65536", "10.0.0.1:80", "127.0.0.1:0x10"],
      },
      {
        field: "bind",
        beside: { defaultEndpoint: "127.0.0.1:80" },
        accepted: ["", "0.0.0.0", "127.0.0.1"],
        refusedByApi: ["a", "unix:///a", "127.0.0.1\n"],
      },
    ],
  },
  {
    part: "an egress listener of a Sidecar",
    positions: {
      Sidecar: {
        objects: (listener) => [
          istioObject("Sidecar", {
            workloadSelector: { labels: { app: "cart" } },
            egress: [{ hosts: ["*/*"], ...listener }],
          }),
        ],
        path: "egress.0",
      },
    },
    rows: [
      {
        field: "bind",
        beside: { port: { number: 0, protocol: "HTTP", name: "http" } },
        accepted: ["unix:///a", "unix://@a", `unix:///${long(106)}`],
        refused: [`unix:///${long(107)}`],
        refusedByApi: ["unix://a", ""],
      },
    ],
  },
];
