import { type FieldRow, type FieldTable, istioObject, type Position } from "./field-table.js";
import type { Manifest } from "../kinds/manifest.js";

const long = (length: number): string => "x".repeat(length);
const group = "extensions";
const namespaces = { "the workload's namespace": "shop", "the root namespace": "istio-system" };
const control = ["a\nb", "a\rb", "a\0b"];

const extension = (kind: string, spec: object, namespace: string): Manifest => ({
  ...istioObject(kind, spec, { namespace, group }),
  apiVersion: "extensions.istio.io/v1alpha1",
});
const positions = (kind: string, around: (part: object) => object, path: string): Readonly<Record<string, Position>> =>
  Object.fromEntries(
    Object.entries(namespaces).map(([where, namespace]) => [
      `${kind}, ${where}`,
      { objects: (part: object) => [extension(kind, around(part), namespace)], path },
    ]),
  );

/** Scripts on both sides of what Envoy compiles. More are in the test of verdicts on texts. */
const scripts: Pick<FieldRow, "accepted" | "refused"> = {
  accepted: [
    "function envoy_on_request(h) end;",
    "while false do break; end",
    "goto a; local b ::a::",
    "x = 'a\\x41\\z  b'",
    "#!/bin/lua\nx = 1",
    "x = 1\0 y z",
    "é = 0b1",
    `x = ${"(".repeat(190)}1${")".repeat(190)}`,
  ],
  refused: [
    "x y",
    "function envoy_on_request(h)",
    "x = 'a\nb'",
    "x = '\\q'",
    "goto a",
    "break",
    "x = 1 // 2",
    "\x1bLJ",
    `x = ${"(".repeat(210)}1${")".repeat(210)}`,
  ],
};

const match: FieldRow = {
  field: "match.0.ports.0.number",
  accepted: [1, 80, 65_535],
  refusedByApi: [0, 65_536, -1],
};
const priority: FieldRow = { field: "priority", accepted: [0, -2_147_483_648, 2_147_483_647] };

const module: readonly FieldRow[] = [
  {
    field: "url",
    accepted: ["a", "a.example/b:v1", "oci://a", "http://a/b?c=%", "https://a/é", `https://a/${long(20_000)}`],
    refusedByApi: ["", "ftp://a", "http://", "a b", "a#b"],
  },
  { field: "pluginName", accepted: ["a", "é", "%", ...control, long(256)], refusedByApi: [long(257)] },
  {
    field: "pluginConfig",
    accepted: [{}, { a: 1 }, { "": null, "<é>": [true, "\u2028", "a\0b"] }, { a: long(100_000) }],
    refusedByApi: [1, "a"],
  },
  { field: "sha256", accepted: ["", "0".repeat(64)], refusedByApi: ["0".repeat(63), "A".repeat(64), "g".repeat(64)] },
  { field: "imagePullSecret", accepted: ["a", long(253)], refusedByApi: ["", long(254)] },
  {
    field: "vmConfig.env.0.name",
    accepted: ["a", "A_B", "é", "a=b", "a b", ...control, "PATH", "ISTIO_META_X", long(256)],
    refusedByApi: ["", long(257)],
  },
  {
    field: "vmConfig.env.0.value",
    beside: { vmConfig: { env: [{ name: "a" }] } },
    accepted: ["", "a", "é", "%", ...control, long(2048)],
    refusedByApi: [long(2049)],
  },
  {
    field: "vmConfig.env.0.valueFrom",
    beside: { vmConfig: { env: [{ name: "PATH" }] } },
    accepted: ["INLINE", "HOST"],
    refusedByApi: ["OTHER"],
  },
  {
    field: "vmConfig.env",
    accepted: [[], [{ name: "a", valueFrom: "HOST" }, { name: "b" }], many(256)],
    refused: [[{ name: "a", valueFrom: "HOST" }, { name: "a" }]],
    refusedByApi: [[{ name: "a" }, { name: "a" }], many(257)],
  },
  { field: "failStrategy", accepted: ["FAIL_CLOSE", "FAIL_OPEN", "FAIL_RELOAD"], refusedByApi: ["OTHER"] },
];

function many(count: number): object {
  return Array.from({ length: count }, (_, n) => ({ name: `a${n}` }));
}

const url = "a.example/b";
const luaType = "type.googleapis.com/envoy.extensions.filters.http.lua.v3.Lua";

/** Positions of a packed message in EnvoyFilters, of which each is applied to the tested sidecar or gateway. */
const patched = (
  applyTo: string,
  type: string,
  around: (config: object) => object,
  path: string,
): Readonly<Record<string, Position>> =>
  Object.fromEntries(
    ["SIDECAR_INBOUND", "SIDECAR_OUTBOUND", "GATEWAY"].flatMap((context) =>
      Object.entries(namespaces).map(([where, namespace]) => [
        `${applyTo} in ${context}, ${where}`,
        {
          objects: (part: object) => [
            {
              ...istioObject(
                "EnvoyFilter",
                {
                  configPatches: [
                    {
                      applyTo,
                      match: { context },
                      patch: {
                        operation: applyTo === "HTTP_FILTER" ? "INSERT_FIRST" : "MERGE",
                        value: around({ "@type": type, ...part }),
                      },
                    },
                  ],
                },
                { namespace },
              ),
              apiVersion: "networking.istio.io/v1alpha3",
            },
          ],
          path: `configPatches.0.patch.value.${path}`,
        },
      ]),
    ),
  );

const source = (field: string): readonly FieldRow[] => [
  { field: `${field}.inline_string`, ...scripts },
  {
    field: `${field}.inlineBytes`,
    accepted: scripts.accepted.map(base64),
    refused: (scripts.refused ?? []).map(base64),
  },
];

function base64(text: unknown): string {
  return Buffer.from(String(text)).toString("base64");
}

export const extensions: readonly FieldTable[] = [
  {
    part: "a script of a TrafficExtension",
    positions: positions("TrafficExtension", (lua) => ({ lua }), "lua"),
    rows: [
      { field: "inlineCode", ...scripts, refusedByApi: ["", `--${long(65_535)}`] },
      { field: "inlineCode", accepted: [`--${long(65_534)}`] },
    ],
  },
  {
    part: "a TrafficExtension",
    positions: positions("TrafficExtension", (part) => ({ lua: { inlineCode: "x = 1" }, ...part }), ""),
    rows: [match, priority, { field: "phase", accepted: ["AUTHN", "AUTHZ", "STATS"], refusedByApi: ["OTHER"] }],
  },
  {
    part: "a module",
    positions: {
      ...positions("WasmPlugin", (part) => ({ url, ...part }), ""),
      ...positions("TrafficExtension", (part) => ({ wasm: { url, ...part } }), "wasm"),
      ...positions("TrafficExtension", (part) => ({ wasm: { url, type: "NETWORK", ...part } }), "wasm"),
    },
    rows: module,
  },
  {
    part: "a WasmPlugin",
    positions: positions("WasmPlugin", (part) => ({ url, ...part }), ""),
    rows: [match, priority, { field: "type", accepted: ["HTTP", "NETWORK"], refusedByApi: ["OTHER"] }],
  },
  {
    part: "a Lua filter of an EnvoyFilter",
    positions: patched("HTTP_FILTER", luaType, (config) => ({ name: "a", typed_config: config }), "typed_config"),
    rows: [{ field: "inline_code", ...scripts }, ...source("default_source_code"), ...source("sourceCodes.a")],
  },
  {
    part: "Lua of a virtual host of an EnvoyFilter",
    positions: patched(
      "VIRTUAL_HOST",
      `${luaType}PerRoute`,
      (config) => ({ typed_per_filter_config: { "envoy.filters.http.lua": config } }),
      "typed_per_filter_config.envoy.filters.http.lua",
    ),
    rows: source("source_code"),
  },
];
