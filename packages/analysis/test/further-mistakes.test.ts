import { describeMistakes } from "./found-mistakes.js";

const groups: Readonly<Record<string, string>> = {
  PeerAuthentication: "security.istio.io/v1",
  RequestAuthentication: "security.istio.io/v1",
  AuthorizationPolicy: "security.istio.io/v1",
  Telemetry: "telemetry.istio.io/v1",
  WasmPlugin: "extensions.istio.io/v1alpha1",
  EnvoyFilter: "networking.istio.io/v1alpha3",
  ProxyConfig: "networking.istio.io/v1beta1",
  Service: "v1",
  Pod: "v1",
  Namespace: "v1",
};

type Fields = Readonly<Record<string, unknown>>;

/** A document with a line for each field. */
const yaml = (object: Fields): string => `${JSON.stringify(object, undefined, 1)}\n---\n`;

const o = (kind: string, spec: Fields, metadata: Fields = {}): string =>
  yaml({
    apiVersion: groups[kind] ?? "networking.istio.io/v1",
    kind,
    metadata: { name: "a", namespace: "shop", ...metadata },
    spec,
  });
const gapi = (kind: string, spec: Fields, name = "a"): string =>
  yaml({ apiVersion: "gateway.networking.k8s.io/v1", kind, metadata: { name, namespace: "shop" }, spec });
const to = (host = "ratings", more: Fields = {}): Fields => ({ route: [{ destination: { host, ...more } }] });
const vs = (http: readonly Fields[]): string => o("VirtualService", { hosts: ["ratings"], http });
const dr = (spec: Fields): string => o("DestinationRule", { host: "ratings", ...spec });
const gw = (servers: readonly Fields[]): string =>
  o("Gateway", { selector: { istio: "ingressgateway" }, servers }, { namespace: "istio-system" });

const service = (name: string, port: string, number: number): string =>
  o("Service", { clusterIP: "10.96.0.1", selector: { app: name }, ports: [{ name: port, port: number }] }, { name });
const pod = (app: string, version: string): string =>
  yaml({
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name: `${app}-${version}`,
      namespace: "shop",
      labels: { app, version, "security.istio.io/tlsMode": "istio" },
    },
    spec: {
      containers: [
        { name: "app", image: "app" },
        { name: "istio-proxy", image: "proxyv2" },
      ],
    },
    status: { phase: "Running", podIP: "10.0.0.1" },
  });
const namespace = (name: string, injection: string): string =>
  yaml({ apiVersion: "v1", kind: "Namespace", metadata: { name, labels: { "istio-injection": injection } } });

/** A mesh without a fault. */
const mesh = [
  namespace("shop", "enabled"),
  namespace("istio-system", "disabled"),
  service("reviews", "http", 9080),
  service("ratings", "http", 9080),
  service("db", "tcp", 3306),
  pod("reviews", "v1"),
  pod("reviews", "v2"),
  pod("ratings", "v1"),
  pod("db", "v1"),
].join("");

interface Mistake {
  /** The documents that are added to the mesh. */
  readonly yaml: string;
  readonly code: string;
  /** The line that the message must refer to. */
  readonly at: string;
  /** Beginning of the message. */
  readonly says: string;
}

const mistakes: Readonly<Record<string, Mistake>> = {
  "a mirror to an unknown host": {
    yaml: vs([{ ...to(), mirror: { host: "ratngs" } }]),
    code: "IST0101",
    at: '"host": "ratngs"',
    says: 'referenced mirror host "ratngs" not found: no Service or ServiceEntry declares it; did you mean',
  },
  "a mirror's percentage without a mirror": {
    yaml: vs([{ ...to(), mirrorPercentage: { value: 10 } }]),
    code: "MESH0042",
    at: '"mirrorPercentage": {',
    says: "http[0].mirrorPercentage: has no effect: there is no mirror, expected also mirror",
  },
  "retries with 0 attempts and conditions": {
    yaml: vs([{ ...to(), retries: { attempts: 0, retryOn: "5xx" } }]),
    code: "IST0106",
    at: '"attempts": 0,',
    says: "http[0].retries.attempts: is 0, which disables retries, expected no other field",
  },
  "an origin of CORS without a scheme": {
    yaml: vs([{ ...to(), corsPolicy: { allowOrigins: [{ exact: "shop.example" }] } }]),
    code: "MESH0050",
    at: '"exact": "shop.example"',
    says: 'http[0].corsPolicy.allowOrigins[0].exact: is "shop.example", which no browser sends as Origin,',
  },
  "credentials for every origin of CORS": {
    yaml: vs([{ ...to(), corsPolicy: { allowOrigins: [{ regex: ".*" }], allowCredentials: true } }]),
    code: "MESH0050",
    at: "{",
    says: "http[0].corsPolicy.allowOrigins[0]: allows every website to act with the credentials of its",
  },
  "a delegate that does not exist": {
    yaml: vs([{ delegate: { name: "b" } }]),
    code: "MESH0006",
    at: '"delegate": {',
    says: "VirtualService shop/b does not exist, so that the route is left out",
  },
  "a redirect with a rewrite": {
    yaml: vs([{ redirect: { uri: "/b" }, rewrite: { uri: "/c" } }]),
    code: "IST0106",
    at: '"rewrite": {',
    says: "http[0].rewrite: is set together with redirect, expected only one of them",
  },
  "a path with a query in a match": {
    yaml: vs([{ match: [{ uri: { exact: "/a?b=c" } }], ...to() }, to()]),
    code: "MESH0014",
    at: '"exact": "/a?b=c"',
    says: 'http[0].match[0].uri.exact: is "/a?b=c", which no path matches: it is compared without the query,',
  },
  "a method in lower case in a match": {
    yaml: vs([{ match: [{ method: { exact: "get" } }], ...to() }, to()]),
    code: "MESH0014",
    at: '"exact": "get"',
    says: 'http[0].match[0].method.exact: is "get", which no method matches, expected "GET"',
  },
  "a scheme with ://": {
    yaml: vs([{ match: [{ scheme: { exact: "https://" } }], ...to() }, to()]),
    code: "MESH0014",
    at: '"exact": "https://"',
    says: 'http[0].match[0].scheme.exact: is "https://", which no scheme matches, expected http or https',
  },
  "a misspelled source namespace": {
    yaml: vs([{ match: [{ sourceNamespace: "shpo" }], ...to() }, to()]),
    code: "MESH0004",
    at: '"sourceNamespace": "shpo"',
    says: 'namespace "shpo" does not exist; did you mean "shop"?',
  },
  "a direct response with status 99": {
    yaml: vs([{ directResponse: { status: 99 } }]),
    code: "IST0106",
    at: '"status": 99',
    says: "http[0].directResponse.status: is 99, expected 200 to 599",
  },
  "a subset of no workload": {
    yaml: dr({ subsets: [{ name: "v9", labels: { version: "v9" } }] }),
    code: "IST0173",
    at: '"labels": {',
    says: 'subset "v9" does not select any pods, which no route leads to: no pod has the label version=v9; did',
  },
  "a negative limit of requests": {
    yaml: dr({ trafficPolicy: { connectionPool: { http: { maxRequestsPerConnection: -1 } } } }),
    code: "IST0106",
    at: '"maxRequestsPerConnection": -1',
    says: "trafficPolicy.connectionPool.http.maxRequestsPerConnection: is -1, expected 0 or more",
  },
  "TLS without roots to a service": {
    yaml: dr({ trafficPolicy: { tls: { mode: "SIMPLE" } } }),
    code: "IST0128",
    at: '"tls": {',
    says: 'TLS mode SIMPLE is set for "ratings" without caCertificates, so that servers are verified with the',
  },
  "plaintext to a service with strict mutual TLS": {
    yaml:
      dr({ trafficPolicy: { tls: { mode: "DISABLE" } } }) +
      o("PeerAuthentication", { mtls: { mode: "STRICT" } }, { name: "b" }),
    code: "MESH0017",
    at: '"tls": {',
    says: "tls mode DISABLE conflicts with PeerAuthentication, which is STRICT for Pod shop/ratings-v1:",
  },
  "a subset in a host": {
    yaml: dr({ host: "ratings/v1" }),
    code: "IST0106",
    at: '"host": "ratings/v1"',
    says: 'host: is "ratings/v1", expected a domain name: the label "ratings/v1" is not of letters, digits and',
  },
  "localities with more than 100 percent": {
    yaml: dr({
      trafficPolicy: {
        loadBalancer: { localityLbSetting: { distribute: [{ from: "a/*", to: { "a/*": 80, "b/*": 30 } }] } },
      },
    }),
    code: "IST0106",
    at: '"to": {',
    says: "trafficPolicy.loadBalancer.localityLbSetting.distribute[0].to: has weights of 110 in all, expected",
  },
  "two servers of one port with the same name": {
    yaml: gw([
      { port: { number: 8080, name: "http", protocol: "HTTP" }, hosts: ["a.example"] },
      { port: { number: 8080, name: "http", protocol: "TCP" }, hosts: ["*"] },
    ]),
    code: "IST0106",
    at: '"name": "http",',
    says: 'servers[1].port.name: is "http" a second time, expected unique names',
  },
  "a misspelled namespace of a host of a Gateway": {
    yaml: gw([{ port: { number: 80, name: "http", protocol: "HTTP" }, hosts: ["shpo/a.example"] }]),
    code: "MESH0004",
    at: '"shpo/a.example"',
    says: 'namespace "shpo" does not exist; did you mean "shop"?',
  },
  "a host of a Gateway with a port": {
    yaml: gw([{ port: { number: 80, name: "http", protocol: "HTTP" }, hosts: ["a.example:80"] }]),
    code: "IST0106",
    at: '"a.example:80"',
    says: 'servers[0].hosts[0]: is "a.example:80", expected a domain name: the label "example:80" is not of',
  },
  "an HTTPS server without TLS settings": {
    yaml: gw([{ port: { number: 443, name: "https", protocol: "HTTPS" }, hosts: ["a.example"] }]),
    code: "IST0106",
    at: "{",
    says: "servers[0].tls: is missing, expected TLS settings for protocol HTTPS",
  },
  "a misspelled selector of a Gateway": {
    yaml: o(
      "Gateway",
      {
        selector: { istio: "ingresgateway" },
        servers: [{ port: { number: 80, name: "http", protocol: "HTTP" }, hosts: ["a.example"] }],
      },
      { namespace: "istio-system" },
    ),
    code: "IST0101",
    at: '"istio": "ingresgateway"',
    says: 'referenced selector "istio=ingresgateway" not found: no pod has the label istio=ingresgateway; did',
  },
  "a name as a static endpoint": {
    yaml: o("ServiceEntry", {
      hosts: ["api.example"],
      ports: [{ number: 443, name: "https", protocol: "HTTPS" }],
      resolution: "STATIC",
      endpoints: [{ address: "api.example" }],
    }),
    code: "IST0106",
    at: '"address": "api.example"',
    says: 'endpoints[0].address: is "api.example", expected an IP address',
  },
  "HTTP routes for an HTTPS port": {
    yaml:
      o("ServiceEntry", {
        hosts: ["api.example"],
        ports: [{ number: 443, name: "https", protocol: "HTTPS" }],
        resolution: "DNS",
      }) +
      o(
        "VirtualService",
        { hosts: ["api.example"], http: [{ timeout: "3s", ...to("api.example", { port: { number: 443 } }) }] },
        { name: "b" },
      ),
    code: "MESH0040",
    at: '"http": [',
    says: "http routes have no effect, because there is no port for them (443 HTTPS): connections to",
  },
  "endpoints without resolution": {
    yaml: o("ServiceEntry", {
      hosts: ["api.example"],
      ports: [{ number: 80, name: "http", protocol: "HTTP" }],
      resolution: "NONE",
      endpoints: [{ address: "1.2.3.4" }],
    }),
    code: "IST0106",
    at: '"endpoints": [',
    says: "endpoints: is set, expected none with resolution NONE",
  },
  "DNS for a wildcard host": {
    yaml: o("ServiceEntry", {
      hosts: ["*.api.example"],
      ports: [{ number: 80, name: "http", protocol: "HTTP" }],
      resolution: "DNS",
    }),
    code: "IST0106",
    at: '"*.api.example"',
    says: 'hosts[0]: is "*.api.example", expected a name that can be resolved, or endpoints',
  },
  "a ServiceEntry that selects no workload": {
    yaml: o("ServiceEntry", {
      hosts: ["api.example"],
      ports: [{ number: 80, name: "http", protocol: "HTTP" }],
      resolution: "STATIC",
      workloadSelector: { labels: { app: "nothing" } },
    }),
    code: "MESH0010",
    at: '"labels": {',
    says: "selector app=nothing matches no workload of namespace shop, so the object has no effect",
  },
  "a ServiceEntry for a Service's host": {
    yaml: o("ServiceEntry", {
      hosts: ["ratings.shop.svc.cluster.local"],
      ports: [{ number: 9080, name: "http", protocol: "HTTP" }],
      resolution: "STATIC",
      endpoints: [{ address: "1.2.3.4" }],
    }),
    code: "MESH0048",
    at: '"ratings.shop.svc.cluster.local"',
    says: "ratings.shop.svc.cluster.local is the host of Service shop/ratings: requests for it go to 1.2.3.4",
  },
  "a misspelled namespace of a Sidecar's egress": {
    yaml: o("Sidecar", { egress: [{ hosts: ["bnak/*", "./*"] }] }),
    code: "MESH0004",
    at: '"bnak/*",',
    says: 'namespace "bnak" does not exist',
  },
  "a name as the endpoint of a Sidecar's ingress": {
    yaml: o("Sidecar", {
      workloadSelector: { labels: { app: "ratings" } },
      ingress: [{ port: { number: 9080, protocol: "HTTP", name: "http" }, defaultEndpoint: "ratings:8080" }],
    }),
    code: "IST0106",
    at: '"defaultEndpoint": "ratings:8080"',
    says: 'ingress[0].defaultEndpoint: is "ratings:8080", expected 127.0.0.1:PORT, 0.0.0.0:PORT, [::1]:PORT,',
  },
  "two Sidecars for all workloads of a namespace": {
    yaml:
      o("Sidecar", { egress: [{ hosts: ["./*"] }] }) + o("Sidecar", { egress: [{ hosts: ["*/*"] }] }, { name: "b" }),
    code: "IST0111",
    at: '"name": "a",',
    says: "Sidecar b of namespace shop has no workloadSelector either, and only the oldest applies, a; keep",
  },
  "a policy that allows nothing": {
    yaml: o("AuthorizationPolicy", { action: "ALLOW", rules: [] }),
    code: "MESH0015",
    at: '"spec": {',
    says: "the policy allows nothing, so every request to the selected workloads that no other ALLOW policy",
  },
  "a policy that denies everything": {
    yaml: o("AuthorizationPolicy", { action: "DENY", rules: [{}] }),
    code: "MESH0015",
    at: "{}",
    says: "the rule has no condition, so every request to the selected workloads is denied",
  },
  "the name of a port in a policy": {
    yaml: o("AuthorizationPolicy", { rules: [{ to: [{ operation: { ports: ["http"] } }] }] }),
    code: "IST0106",
    at: '"http"',
    says: 'rules[0].to[0].operation.ports[0]: is "http", expected a port number',
  },
  "a method in lower case in a policy": {
    yaml: o("AuthorizationPolicy", { rules: [{ to: [{ operation: { methods: ["get"] } }] }] }),
    code: "MESH0014",
    at: '"get"',
    says: 'method "get" never matches, because methods are case-sensitive; did you mean "GET"?',
  },
  "a misspelled selector of a policy": {
    yaml: o("AuthorizationPolicy", { selector: { matchLabels: { app: "ratngs" } }, rules: [{}] }),
    code: "IST0127",
    at: '"matchLabels": {',
    says: 'no matching workloads with the labels "app=ratngs", so the policy has no effect: no pod in',
  },
  "a range of 33 bits": {
    yaml: o("AuthorizationPolicy", {
      selector: { matchLabels: { app: "ratings" } },
      rules: [{ from: [{ source: { remoteIpBlocks: ["10.0.0.0/33"] } }] }],
    }),
    code: "IST0106",
    at: '"10.0.0.0/33"',
    says: 'rules[0].from[0].source.remoteIpBlocks[0]: is "10.0.0.0/33", expected an IP address or a range such',
  },
  "a URI of keys without a scheme": {
    yaml: o("RequestAuthentication", { jwtRules: [{ issuer: "https://a.example", jwksUri: "a.example/jwks" }] }),
    code: "IST0106",
    at: '"jwksUri": "a.example/jwks"',
    says: 'jwtRules[0].jwksUri: is "a.example/jwks", expected a URL with http:// or https://',
  },
  "the name of a port for mutual TLS": {
    yaml: o("PeerAuthentication", {
      selector: { matchLabels: { app: "ratings" } },
      portLevelMtls: { http: { mode: "STRICT" } },
    }),
    code: "IST0106",
    at: '"http": {',
    says: 'portLevelMtls.http: has the key "http", expected an integer of 0 or more',
  },
  "mutual TLS of ports without a selector": {
    yaml: o("PeerAuthentication", { portLevelMtls: { "9080": { mode: "DISABLE" } } }),
    code: "IST0106",
    at: '"portLevelMtls": {',
    says: "portLevelMtls: is set, expected also a selector with labels",
  },
  "two Telemetries for all workloads of a namespace": {
    yaml:
      o("Telemetry", { tracing: [{ randomSamplingPercentage: 10 }] }) +
      o("Telemetry", { tracing: [{ randomSamplingPercentage: 20 }] }, { name: "b" }),
    code: "IST0160",
    at: '"name": "a",',
    says: "namespace shop has multiple Telemetry objects without a workload selector: also b, and only one of",
  },
  "a tag of a metric without a value": {
    yaml: o("Telemetry", {
      metrics: [{ providers: [{ name: "prometheus" }], overrides: [{ tagOverrides: { x: { operation: "UPSERT" } } }] }],
    }),
    code: "IST0106",
    at: '"x": {',
    says: "metrics[0].overrides[0].tagOverrides.x.value: is missing, expected a value where the operation is",
  },
  "access logs without a provider": {
    yaml: o("Telemetry", { accessLogging: [{ filter: { expression: "response.code >= '400'" } }] }),
    code: "IST0157",
    at: "{",
    says: "Telemetry shop/a has access logging without a provider, which is ignored because the mesh has no",
  },
  "a match of clusters for an HTTP filter": {
    yaml: o("EnvoyFilter", {
      configPatches: [
        {
          applyTo: "HTTP_FILTER",
          match: { cluster: { name: "x" } },
          patch: {
            operation: "INSERT_FIRST",
            value: {
              name: "l",
              typed_config: { "@type": "type.googleapis.com/envoy.extensions.filters.http.lua.v3.Lua" },
            },
          },
        },
      ],
    }),
    code: "IST0106",
    at: '"cluster": {',
    says: "configPatches[0].match.cluster: is set with applyTo HTTP_FILTER, expected listener",
  },
  "a misspelled selector of an EnvoyFilter": {
    yaml: o("EnvoyFilter", {
      workloadSelector: { labels: { app: "ratngs" } },
      configPatches: [{ applyTo: "CLUSTER", patch: { operation: "MERGE", value: { connect_timeout: "1s" } } }],
    }),
    code: "MESH0010",
    at: '"labels": {',
    says: "selector app=ratngs matches no workload of namespace shop, so the object has no effect",
  },
  "a checksum that is none": {
    yaml: o("WasmPlugin", { url: "https://a.example/x.wasm", sha256: "abc" }),
    code: "IST0106",
    at: '"sha256": "abc"',
    says: 'sha256: is "abc", expected 64 hexadecimal digits in lower case',
  },
  "a misspelled selector of a WasmPlugin": {
    yaml: o("WasmPlugin", { selector: { matchLabels: { app: "ratngs" } }, url: "oci://ghcr.io/a/b:1" }),
    code: "MESH0010",
    at: '"matchLabels": {',
    says: "selector app=ratngs matches no workload of namespace shop, so the object has no effect",
  },
  "a pull secret that does not exist": {
    yaml: o("WasmPlugin", { url: "oci://ghcr.io/a/b:1", imagePullSecret: "none" }),
    code: "IST0101",
    at: '"imagePullSecret": "none"',
    says: "referenced Secret shop/none not found, so that a module of a private registry cannot be fetched",
  },
  "an unknown phase of a WasmPlugin": {
    yaml: o("WasmPlugin", { url: "oci://ghcr.io/a/b:1", phase: "AUTHENTICATION" }),
    code: "IST0106",
    at: '"phase": "AUTHENTICATION"',
    says: 'phase: is "AUTHENTICATION", expected one of UNSPECIFIED_PHASE, AUTHN, AUTHZ, STATS',
  },
  "a value for a variable of the host": {
    yaml: o("WasmPlugin", {
      url: "oci://ghcr.io/a/b:1",
      vmConfig: { env: [{ name: "X", valueFrom: "HOST", value: "y" }] },
    }),
    code: "IST0106",
    at: '"value": "y"',
    says: "vmConfig.env[0].value: is set, expected none where valueFrom is not INLINE",
  },
  "an HTTPRoute for a Gateway that does not exist": {
    yaml: gapi("HTTPRoute", {
      parentRefs: [{ name: "none" }],
      rules: [{ backendRefs: [{ name: "ratings", port: 9080 }] }],
    }),
    code: "MESH0064",
    at: "{",
    says: "not attached: there is no Gateway shop/none",
  },
  "a backend without a port": {
    yaml: gapi("HTTPRoute", {
      parentRefs: [{ group: "", kind: "Service", name: "ratings" }],
      rules: [{ backendRefs: [{ name: "ratings" }] }],
    }),
    code: "MESH0063",
    at: "{",
    says: "parent Service ratings: ResolvedRefs is False with reason InvalidDestination: port is required in backendRef",
  },
  "a backend with a port that its Service lacks": {
    yaml: gapi("HTTPRoute", {
      parentRefs: [{ group: "", kind: "Service", name: "ratings" }],
      rules: [{ backendRefs: [{ name: "ratings", port: 80 }] }],
    }),
    code: "MESH0065",
    at: "{",
    says: "Service shop/ratings has no port 80",
  },
  "a backend that does not exist": {
    yaml: gapi("HTTPRoute", {
      parentRefs: [{ group: "", kind: "Service", name: "ratings" }],
      rules: [{ backendRefs: [{ name: "x", namespace: "istio-system", port: 80 }] }],
    }),
    code: "MESH0063",
    at: "{",
    says: "parent Service ratings: ResolvedRefs is False with reason BackendNotFound:",
  },
  "a misspelled class of a Gateway": {
    yaml: gapi("Gateway", { gatewayClassName: "istoi", listeners: [{ name: "http", port: 80, protocol: "HTTP" }] }),
    code: "MESH0064",
    at: '"gatewayClassName": "istoi",',
    says: "not attached: there is no GatewayClass istoi",
  },
  "a host that the listener does not have": {
    yaml:
      gapi(
        "Gateway",
        { gatewayClassName: "istio", listeners: [{ name: "http", port: 80, protocol: "HTTP", hostname: "a.example" }] },
        "g",
      ) +
      gapi("HTTPRoute", {
        parentRefs: [{ name: "g" }],
        hostnames: ["b.example"],
        rules: [{ backendRefs: [{ name: "ratings", port: 9080 }] }],
      }),
    code: "MESH0062",
    at: "{",
    says: "parent Gateway g: Accepted is False with reason NoMatchingListenerHostname: no hostnames matched parent",
  },
  "a misspelled listener": {
    yaml:
      gapi("Gateway", { gatewayClassName: "istio", listeners: [{ name: "http", port: 80, protocol: "HTTP" }] }, "g") +
      gapi("HTTPRoute", {
        parentRefs: [{ name: "g", sectionName: "htp" }],
        rules: [{ backendRefs: [{ name: "ratings", port: 9080 }] }],
      }),
    code: "MESH0062",
    at: "{",
    says: 'parent Gateway g, listener htp: Accepted is False with reason NoMatchingParent: sectionName "htp" not found',
  },
  "a certificate that does not exist": {
    yaml: gapi("Gateway", {
      gatewayClassName: "istio",
      listeners: [{ name: "https", port: 443, protocol: "HTTPS", tls: { certificateRefs: [{ name: "none" }] } }],
    }),
    code: "MESH0063",
    at: "{",
    says: "listener https: ResolvedRefs is False with reason InvalidCertificateRef: invalid certificate reference",
  },
  "an annotation with a malformed quantity": {
    yaml: yaml({
      apiVersion: "v1",
      kind: "Pod",
      metadata: {
        name: "x",
        namespace: "shop",
        labels: { app: "x" },
        annotations: { "sidecar.istio.io/proxyCPU": "100mm" },
      },
      spec: { containers: [{ name: "app", image: "a" }] },
    }),
    code: "IST0125",
    at: '"sidecar.istio.io/proxyCPU": "100mm"',
    says: 'annotation sidecar.istio.io/proxyCPU is invalid: it is "100mm", expected a quantity such as 100m or',
  },
  "an annotation with the name of a port": {
    yaml: yaml({
      apiVersion: "v1",
      kind: "Pod",
      metadata: {
        name: "x",
        namespace: "shop",
        labels: { app: "x" },
        annotations: { "traffic.sidecar.istio.io/excludeOutboundPorts": "mysql" },
      },
      spec: { containers: [{ name: "app", image: "a" }] },
    }),
    code: "IST0125",
    at: '"traffic.sidecar.istio.io/excludeOutboundPorts": "mysql"',
    says: 'annotation traffic.sidecar.istio.io/excludeOutboundPorts is invalid: it has "mysql", expected port',
  },
  "a misspelled field in an annotation": {
    yaml: yaml({
      apiVersion: "v1",
      kind: "Pod",
      metadata: {
        name: "x",
        namespace: "shop",
        labels: { app: "x" },
        annotations: { "proxy.istio.io/config": "holdApplicationUntilProxyStart: true" },
      },
      spec: { containers: [{ name: "app", image: "a" }] },
    }),
    code: "IST0125",
    at: '"proxy.istio.io/config": "holdApplicationUntilProxyStart: true"',
    says: "annotation proxy.istio.io/config has a part without effect: holdApplicationUntilProxyStart is not a",
  },
  "an annotation with a misspelled namespace": {
    yaml: yaml({
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "x", namespace: "shop", annotations: { "networking.istio.io/exportTo": "shpo" } },
      spec: { ports: [{ name: "http", port: 80 }] },
    }),
    code: "MESH0004",
    at: '"networking.istio.io/exportTo": "shpo"',
    says: 'namespace "shpo" does not exist; did you mean "shop"?',
  },
  "a label for injection as an annotation": {
    yaml: yaml({
      apiVersion: "v1",
      kind: "Namespace",
      metadata: { name: "x", annotations: { "istio-injection": "enabled" } },
    }),
    code: "IST0102",
    at: '"name": "x",',
    says: "namespace x is not enabled for Istio injection; label it istio-injection=enabled to inject",
  },
  "a target port that no container names": {
    yaml: yaml({
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "x", namespace: "shop" },
      spec: { selector: { app: "ratings" }, ports: [{ name: "http", port: 80, targetPort: "web" }] },
    }),
    code: "MESH0041",
    at: '"targetPort": "web"',
    says: 'is "web", and no selected workload has a port of this name, so that port 80 has no endpoints: they',
  },
  "a misspelled protocol of an application": {
    yaml: yaml({
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "x", namespace: "shop" },
      spec: { selector: { app: "ratings" }, ports: [{ name: "a", port: 80, appProtocol: "htttp" }] },
    }),
    code: "IST0118",
    at: "{",
    says: 'port 80 is named "a", which selects no protocol, so that it is detected or treated as TCP; name it',
  },
  "a misspelled selector of a ProxyConfig": {
    yaml: o("ProxyConfig", { selector: { matchLabels: { app: "ratngs" } }, concurrency: 2 }),
    code: "MESH0010",
    at: '"matchLabels": {',
    says: "selector app=ratngs matches no workload of namespace shop, so the object has no effect",
  },
  "a negative number of threads": {
    yaml: o("ProxyConfig", { concurrency: -1 }),
    code: "IST0106",
    at: '"concurrency": -1',
    says: "concurrency: is -1, expected 0 or more",
  },
};

describeMistakes(
  mesh,
  Object.fromEntries(
    Object.entries(mistakes).map(([name, { yaml: documents, code, at, says }]) => [name, [documents, code, at, says]]),
  ),
);
