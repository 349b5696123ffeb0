import type { TestCertificates } from "@istiod/e2e";

const base64 = (text: string): string => Buffer.from(text).toString("base64");

/** A Gateway whose Service is that of workload `ingress`; all its listeners listen on the workload's address. */
export const gateway = (certificate: TestCertificates): string => `
apiVersion: networking.istio.io/v1alpha3
kind: EnvoyFilter
metadata: {name: own-address, namespace: edge}
spec:
  workloadSelector: {labels: {app: ingress}}
  configPatches:
  - applyTo: LISTENER
    match: {context: GATEWAY}
    patch: {operation: MERGE, value: {address: {socket_address: {address: "{{ingress}}"}}}}
---
apiVersion: v1
kind: Secret
metadata: {name: shop-example, namespace: certificates}
type: kubernetes.io/tls
data: {tls.crt: ${base64(certificate.server.cert)}, tls.key: ${base64(certificate.server.key)}}
---
apiVersion: v1
kind: Namespace
metadata: {name: certificates}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: ingress, namespace: edge}
spec:
  gatewayClassName: istio
  addresses: [{type: Hostname, value: ingress.edge.svc.cluster.local}]
  listeners:
  - {name: http, port: 8080, protocol: HTTP, allowedRoutes: {namespaces: {from: All}}}
  - name: https
    port: 8443
    protocol: HTTPS
    hostname: shop.example
    tls: {certificateRefs: [{name: shop-example, namespace: certificates}]}
    allowedRoutes: {namespaces: {from: All}}
  - {name: through, port: 8444, protocol: TLS, tls: {mode: Passthrough}, allowedRoutes: {namespaces: {from: All}}}
  - name: ended
    port: 8445
    protocol: TLS
    hostname: shop.example
    tls: {mode: Terminate, certificateRefs: [{name: shop-example, namespace: certificates}]}
    allowedRoutes: {namespaces: {from: All}}
  - {name: tcp, port: 8446, protocol: TCP, allowedRoutes: {namespaces: {from: All}}}
`;

/** Permits the Gateway to use the Secret. */
export const grant = `
apiVersion: gateway.networking.k8s.io/v1
kind: ReferenceGrant
metadata: {name: certificates, namespace: certificates}
spec:
  from: [{group: gateway.networking.k8s.io, kind: Gateway, namespace: edge}]
  to: [{group: "", kind: Secret, name: shop-example}]
`;

export const otherRoutes = `
apiVersion: gateway.networking.k8s.io/v1
kind: GRPCRoute
metadata: {name: ledger, namespace: shop}
spec:
  parentRefs: [{name: ingress, namespace: edge, sectionName: http}]
  hostnames: [ledger.example]
  rules:
  - matches: [{method: {service: shop.Ledger, method: Read}, headers: [{name: x-tenant, value: one}]}]
    filters: [{type: RequestHeaderModifier, requestHeaderModifier: {set: [{name: x-rule, value: read}]}}]
    backendRefs: [{name: ledger, port: 8000}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: TLSRoute
metadata: {name: vault, namespace: shop}
spec:
  parentRefs: [{name: ingress, namespace: edge, sectionName: through}]
  hostnames: [vault.example]
  rules: [{backendRefs: [{name: vault, port: 8000}]}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: TLSRoute
metadata: {name: ended, namespace: shop}
spec:
  parentRefs: [{name: ingress, namespace: edge, sectionName: ended}]
  hostnames: [shop.example]
  rules: [{backendRefs: [{name: beta, port: 8000}]}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: TCPRoute
metadata: {name: raw, namespace: shop}
spec:
  parentRefs: [{name: ingress, namespace: edge, sectionName: tcp}]
  rules: [{backendRefs: [{name: beta, port: 8000}]}]
`;

/** Returns the HTTPRoute of all filters. */
export const httpRoute = `
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: shop, namespace: shop}
spec:
  parentRefs: [{name: ingress, namespace: edge, sectionName: http}, {name: ingress, namespace: edge, sectionName: https}]
  hostnames: [shop.example]
  rules:
${[
  `matches: [{path: {type: PathPrefix, value: /headers}}]
    filters:
    - type: RequestHeaderModifier
      requestHeaderModifier: {set: [{name: x-set, value: gateway}], add: [{name: x-added, value: more}], remove: [x-secret]}
    - type: ResponseHeaderModifier
      responseHeaderModifier: {set: [{name: x-served, value: gateway}], remove: [x-internal]}
    backendRefs: [{name: cart, port: 8000}]`,
  `matches: [{path: {type: PathPrefix, value: /moved}}]
    filters:
    - type: RequestRedirect
      requestRedirect:
        scheme: https
        hostname: new.example
        port: 8443
        statusCode: 302
        path: {type: ReplacePrefixMatch, replacePrefixMatch: /here}`,
  `matches: [{path: {type: PathPrefix, value: /prefix}}]
    filters:
    - {type: URLRewrite, urlRewrite: {hostname: inner.example, path: {type: ReplacePrefixMatch, replacePrefixMatch: /}}}
    backendRefs: [{name: cart, port: 8000}]`,
  `matches: [{path: {type: PathPrefix, value: /whole}}]
    filters: [{type: URLRewrite, urlRewrite: {path: {type: ReplaceFullPath, replaceFullPath: /all}}}]
    backendRefs: [{name: cart, port: 8000}]`,
  `matches: [{path: {type: PathPrefix, value: /mirrored}}]
    filters: [{type: RequestMirror, requestMirror: {backendRef: {name: beta, port: 8000}}}]
    backendRefs: [{name: cart, port: 8000}]`,
  `matches: [{path: {type: PathPrefix, value: /cors}}]
    filters:
    - type: CORS
      cors: {allowOrigins: ["https://app.example"], allowMethods: [PUT], allowHeaders: [x-token], maxAge: 60}
    backendRefs: [{name: cart, port: 8000}]`,
  `matches: [{path: {type: PathPrefix, value: /slow}}]
    timeouts: {request: 200ms}
    backendRefs: [{name: cart, port: 8000}]`,
  `matches: [{path: {type: PathPrefix, value: /flaky/retried}}]
    retry: {codes: [503], attempts: 2, backoff: 10ms}
    backendRefs: [{name: cart, port: 8000}]`,
  `matches: [{path: {type: PathPrefix, value: /flaky/once}}]
    retry: {codes: [503], attempts: 0}
    backendRefs: [{name: cart, port: 8000}]`,
  `matches: [{path: {type: PathPrefix, value: /split}}]
    backendRefs: [{name: cart, port: 8000, weight: 3}, {name: beta, port: 8000, weight: 1}, {name: vault, port: 8000, weight: 0}]`,
  `matches: [{path: {type: PathPrefix, value: /paths}}]
    backendRefs:
    - {name: cart, port: 8000, weight: 3, filters: [{type: URLRewrite, urlRewrite: {path: {type: ReplaceFullPath, replaceFullPath: /cart}}}]}
    - {name: beta, port: 8000, weight: 1, filters: [{type: URLRewrite, urlRewrite: {hostname: beta.example, path: {type: ReplacePrefixMatch, replacePrefixMatch: /beta}}}]}`,
  `matches:
    - {path: {type: Exact, value: /matched}, method: POST, headers: [{name: x-kind, value: a}], queryParams: [{name: q, value: "1"}]}
    - {path: {type: RegularExpression, value: "/number/[0-9]+"}}
    backendRefs: [{name: cart, port: 8000}]`,
  `matches: [{path: {type: PathPrefix, value: /ungranted}}]
    backendRefs: [{name: private, namespace: certificates, port: 8000}]`,
]
  .map((rule) => `  - ${rule}`)
  .join("\n")}
`;
