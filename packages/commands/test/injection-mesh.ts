/** A revision of the control plane, as the chart installs it. */
export const revision = (name: string): string => `
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata:
  name: istio-sidecar-injector-${name}
  labels: {app: sidecar-injector, istio.io/rev: "${name}", operator.istio.io/component: Pilot, release: istiod}
webhooks:
- name: rev.namespace.sidecar-injector.istio.io
  clientConfig: {caBundle: Y2E=, service: {name: istiod-${name}, namespace: istio-system, path: /inject, port: 443}}
  sideEffects: None
  rules: [{operations: [CREATE], apiGroups: [""], apiVersions: [v1], resources: [pods]}]
  reinvocationPolicy: Never
  admissionReviewVersions: [v1]
  namespaceSelector:
    matchExpressions:
    - {key: istio.io/rev, operator: In, values: ["${name}"]}
    - {key: istio-injection, operator: DoesNotExist}
  objectSelector:
    matchExpressions: [{key: sidecar.istio.io/inject, operator: NotIn, values: ["false"]}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: istio-validator-${name}-istio-system, labels: {istio: istiod, istio.io/rev: "${name}"}}
webhooks:
- name: rev.validation.istio.io
  clientConfig: {service: {name: istiod-${name}, namespace: istio-system, path: /validate}}
  rules: [{operations: [CREATE, UPDATE], apiGroups: [networking.istio.io], apiVersions: ["*"], resources: ["*"]}]
  failurePolicy: Ignore
  sideEffects: None
  admissionReviewVersions: [v1]
  objectSelector: {matchExpressions: [{key: istio.io/rev, operator: In, values: ["${name}"]}]}
---
apiVersion: v1
kind: Service
metadata: {name: istiod-${name}, namespace: istio-system, labels: {app: istiod, istio.io/rev: "${name}"}}
spec: {clusterIP: 10.96.1.1, ports: [{name: https-dns, port: 15012, protocol: TCP}], selector: {app: istiod, istio.io/rev: "${name}"}}
`;

export const namespace = (name: string, labels = "{}"): string =>
  `\n---\napiVersion: v1\nkind: Namespace\nmetadata: {name: ${name}, labels: ${labels}}\n`;

/** A Pod, with the revision that injected it. */
export const pod = (name: string, ns: string, { labels = "{}", revision = "" } = {}): string => `
---
apiVersion: v1
kind: Pod
metadata:
  name: ${name}
  namespace: ${ns}
  labels: ${labels}
  annotations: ${revision === "" ? "{}" : `{sidecar.istio.io/status: '{"revision":"${revision}"}'}`}
spec: {containers: [{name: app, image: app}]}
status: {phase: Running}
`;
