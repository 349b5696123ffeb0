import nx from "@nx/eslint-plugin";
import tseslint from "typescript-eslint";
import docComment from "./tools/test/doc-comment-rule.mjs";
import protoParser from "./tools/test/proto-parser.mjs";

/** The packages from the foundation up: each may import only those before it. The design's table, as a rule. */
const order = [
  "runtime",
  "settings",
  "metrics",
  "peer-address",
  "standard-metrics",
  "tls-admission",
  "go-template",
  "admin-server",
  "logging",
  "incremental",
  "jwks",
  "credentials",
  "protobuf-wire",
  "kubernetes",
  "envoy-api",
  "istio-api",
  "resources",
  "config-schema",
  "envoy-filter",
  "config-ingestion",
  "service-discovery",
  "gateway-api",
  "push-context",
  "config-xds",
  "analysis",
  "xds-generators",
  "explain",
  "authorization",
  "xds-server",
  "push-report",
  "mesh-log",
  "ca",
  "mesh-source",
  "admission",
  "validation",
  "injector",
  "controllers",
  "status-page",
  "proxy-config",
  "replicas",
  "introspection",
  "commands",
  "prometheus",
];
/** Packages about the mesh's configuration and what is generated from it. */
const model = order.slice(order.indexOf("config-schema"), order.indexOf("authorization") + 1);
const encoding = ["protobuf-wire", "envoy-api", "resources"];
/** Packages that each package must not import although they are above it in the table. */
const ignorant = {
  "go-template": ["metrics", "peer-address", "tls-admission"],
  jwks: ["metrics", "tls-admission", "go-template", "admin-server"],
  kubernetes: ["tls-admission", "admin-server", "jwks", "incremental"],
  "config-schema": encoding,
  "envoy-filter": order.filter(
    (name) => !["runtime", "settings", "protobuf-wire", "envoy-api", "istio-api", "config-schema"].includes(name),
  ),
  "config-ingestion": [...encoding, "envoy-filter"],
  "config-xds": ["protobuf-wire"],
  "service-discovery": ["config-ingestion", ...encoding],
  "gateway-api": ["config-ingestion", "envoy-filter", ...encoding],
  "push-context": ["config-ingestion", ...encoding],
  analysis: encoding,
  "xds-generators": ["config-ingestion"],
  explain: ["config-ingestion"],
  authorization: ["config-ingestion", "explain"],
  "xds-server": ["istio-api", "incremental", ...model],
  "push-report": ["protobuf-wire", "envoy-api", "istio-api", ...model.filter((name) => name !== "config-schema")],
  ca: ["incremental", "envoy-api", "resources", ...model, "xds-server", "push-report"],
  "mesh-source": [
    "settings",
    "metrics",
    "tls-admission",
    "admin-server",
    "logging",
    "jwks",
    "istio-api",
    "config-schema",
    "config-ingestion",
    "service-discovery",
    "analysis",
    "explain",
    "authorization",
    "push-report",
  ],
  "mesh-log": ["tls-admission", "go-template", "jwks", "protobuf-wire", "envoy-api", "istio-api", "authorization"],
  prometheus: order.filter((name) => name !== "metrics"),
  admission: order.filter((name) => name !== "runtime" && name !== "settings"),
  validation: order.filter((name) => !["runtime", "config-schema", "envoy-filter", "admission"].includes(name)),
  injector: [
    "incremental",
    ...encoding,
    ...model.filter((name) => name !== "config-schema"),
    "xds-server",
    "push-report",
    "mesh-log",
    "ca",
    "mesh-source",
    "validation",
  ],
  controllers: ["config-xds", "xds-generators", "explain", ...encoding, "xds-server", "push-report", "mesh-source"],
  "status-page": order,
  "proxy-config": order.filter((name) => name !== "envoy-api" && name !== "resources"),
  replicas: order.filter(
    (name) =>
      !["kubernetes", "envoy-api", "config-schema", "analysis", "push-report", "ca", "status-page"].includes(name),
  ),
  commands: [
    "metrics",
    "peer-address",
    "tls-admission",
    "go-template",
    "logging",
    "jwks",
    "protobuf-wire",
    "controllers",
    "mesh-source",
    "admission",
  ],
  introspection: [
    "settings",
    "metrics",
    "tls-admission",
    "go-template",
    "logging",
    "jwks",
    "protobuf-wire",
    "istio-api",
    "admission",
    "validation",
    "injector",
    "controllers",
  ],
};
const depConstraints = [
  ...order.map((name, at) => ({
    sourceTag: `pkg:${name}`,
    onlyDependOnLibsWithTags: order
      .slice(0, at)
      .filter((dep) => !ignorant[name]?.includes(dep))
      .map((dep) => `pkg:${dep}`),
  })),
  { sourceTag: "pkg:istiod", onlyDependOnLibsWithTags: order.map((dep) => `pkg:${dep}`) },
  {
    sourceTag: "pkg:pilot-agent",
    onlyDependOnLibsWithTags: [
      "pkg:runtime",
      "pkg:settings",
      "pkg:peer-address",
      "pkg:standard-metrics",
      "pkg:admin-server",
      "pkg:logging",
      "pkg:protobuf-wire",
      "pkg:envoy-api",
      "pkg:istio-api",
      "pkg:resources",
      "pkg:config-schema",
      "pkg:credentials",
      "pkg:redirection",
    ],
  },
  { sourceTag: "pkg:redirection", onlyDependOnLibsWithTags: [] },
  { sourceTag: "tool", onlyDependOnLibsWithTags: ["*"] },
];

const typescript = ["packages/**/*.ts", "apps/**/*.ts", "tools/**/*.ts", "examples/**/*.ts"];
const counted = { skipBlankLines: true, skipComments: true };
const sources = ["packages/*/src/**/*.ts", "apps/*/src/**/*.ts", "tools/*/src/**/*.ts"];

export default [
  {
    ignores: [
      "**/dist/**",
      "**/dist-test/**",
      "**/gen/**",
      "**/build/**",
      "**/bundle/**",
      "**/node_modules/**",
      ".nx/**",
    ],
  },
  {
    files: sources,
    languageOptions: { parser: tseslint.parser },
    plugins: { "@nx": nx },
    rules: {
      "@nx/enforce-module-boundaries": ["error", { allow: [], enforceBuildableLibDependency: false, depConstraints }],
    },
  },
  ...(process.env.BORDERS_ONLY
    ? []
    : [
        ...tseslint.configs.recommended.map((c) => ({
          ...c,
          files: typescript,
        })),
        {
          files: typescript,
          rules: {
            "@typescript-eslint/no-explicit-any": "error",
            "@typescript-eslint/consistent-type-imports": "error",
            "@typescript-eslint/no-unused-vars": ["error", { argsIgnorePattern: "^_", varsIgnorePattern: "^_" }],
            "@typescript-eslint/no-empty-object-type": "off",
            eqeqeq: ["error", "always", { null: "ignore" }],
          },
        },
        {
          files: sources,
          rules: {
            "@typescript-eslint/no-non-null-assertion": "error",
            // oxfmt wraps code, and neither comments nor what cannot be wrapped.
            "max-len": [
              "error",
              {
                code: 120,
                ignoreUrls: true,
                ignoreStrings: true,
                ignoreTemplateLiterals: true,
                ignoreRegExpLiterals: true,
              },
            ],
            "max-lines": ["error", { max: 420, ...counted }],
            "max-lines-per-function": ["error", { max: 120, ...counted }],
          },
        },
        {
          files: ["packages/*/src/**/*.ts"],
          rules: { "max-lines-per-function": ["error", { max: 70, ...counted }] },
        },
        {
          // It declares settings and composes packages. What has a life of its own is in one of them.
          files: ["apps/istiod/src/**/*.ts"],
          rules: { "no-restricted-syntax": ["error", "ClassDeclaration", "ClassExpression"] },
        },
        {
          files: sources,
          plugins: { local: { rules: { "doc-comment": docComment } } },
          rules: { "local/doc-comment": "error" },
        },
        {
          files: ["proto/**/*.proto"],
          languageOptions: { parser: protoParser },
          plugins: { local: { rules: { "doc-comment": docComment } } },
          rules: { "local/doc-comment": ["error", "all"] },
        },
      ]),
];
