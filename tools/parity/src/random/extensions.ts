import fc, { type Arbitrary } from "fast-check";
import { attachment, few, type MeshObject, objects, oneOf, optional } from "./arbitraries.js";

const selector = optional({
  mode: oneOf("CLIENT", "SERVER", "CLIENT_AND_SERVER", "UNDEFINED"),
  ports: fc.uniqueArray(
    oneOf(80, 8080, 9090, 3306, 443, 1).map((number) => ({ number })),
    {
      maxLength: 2,
      selector: ({ number }) => number,
    },
  ),
});

const variable = fc.oneof(
  optional({ value: oneOf("v", "") }).map((rest) => ({ name: "INLINE", ...rest })),
  fc.constant({ name: "EXPLICIT", value: "x", valueFrom: "INLINE" }),
  fc.constant({ name: "POD_NAME", valueFrom: "HOST" }),
  fc.constant({ name: "ISTIO_META_WASM_IMAGE_PULL_POLICY", value: "Always" }),
);

const pluginConfig = fc.oneof(
  fc.constant({}),
  fc.constant({ level: "full", nested: { b: [1, 2.5, null, true], a: "<&>" } }),
  fc.dictionary(oneOf("b", "a", "ü"), fc.oneof(fc.double({ noNaN: true, min: -1e6, max: 1e22 }), fc.string()), {
    maxKeys: 3,
    noNullPrototype: true,
  }),
);

/** Returns the fields of a module. WasmPlugin has those of TrafficExtension's `wasm`. */
const module = fc
  .tuple(
    oneOf(
      ...["oci://registry.example.com/team/audit:v1", "registry.example.com/team/audit:v1", "file:///opt/filter.wasm"],
      ...["http://files.example.com/a.wasm?x=1", "HTTPS://files.example.com/a.wasm", "https://[::1]:8443/a.wasm"],
    ),
    optional({
      sha256: oneOf("0123456789abcdef".repeat(4)),
      imagePullPolicy: oneOf("UNSPECIFIED_POLICY", "IfNotPresent", "Always"),
      imagePullSecret: oneOf("registry", "absent", "kubernetes://registry", "kubernetes://other/registry", "opaque"),
      pluginConfig,
      pluginName: oneOf("root-id"),
      failStrategy: oneOf("FAIL_CLOSE", "FAIL_OPEN", "FAIL_RELOAD"),
      vmConfig: optional({
        env: fc.uniqueArray(variable, { maxLength: 3, selector: ({ name }) => name }),
      }),
      type: oneOf("UNSPECIFIED_PLUGIN_TYPE", "HTTP", "NETWORK"),
      verificationKey: oneOf("key"),
    }),
  )
  .map(([url, rest]) => ({ url, ...rest }));

const placement = (unspecified: string): Arbitrary<object> =>
  optional({
    phase: oneOf(unspecified, "AUTHN", "AUTHZ", "STATS"),
    priority: oneOf(0, 1, 10, -5, 2147483647, -2147483648),
    match: few(selector),
  });

const join = (parts: readonly object[]): object => Object.assign({}, ...parts) as object;

const script = oneOf(
  "function envoy_on_request(handle) end",
  'function envoy_on_response(handle)\n  handle:headers():add("x", "y")\nend\n',
);

const plugins = objects(
  "extensions.istio.io/v1alpha1",
  "WasmPlugin",
  fc.tuple(attachment, placement("UNSPECIFIED_PHASE"), module).map(join),
  4,
);

const extensions = objects(
  "extensions.istio.io/v1alpha1",
  "TrafficExtension",
  fc
    .tuple(
      attachment,
      placement("UNSPECIFIED"),
      fc.oneof(
        module.map((wasm) => ({ wasm })),
        script.map((inlineCode) => ({ lua: { inlineCode } })),
      ),
    )
    .map(join),
  4,
);

/** WasmPlugins and TrafficExtensions, at least one. */
export const extensionObjects: Arbitrary<readonly MeshObject[]> = fc
  .tuple(plugins, extensions)
  .map((lists) => lists.flat())
  .filter((all) => all.length > 0);
