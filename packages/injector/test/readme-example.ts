import { defaultMeshConfig } from "@istiod/config-schema";
import { effectiveProxyConfig, type Injector, mutatePod, parseInjectorConfig, parseValues } from "@istiod/injector";

const template = `
spec:
  containers:
  - name: istio-proxy
    image: {{ .ProxyImage }}
    args: [proxy, sidecar, {{ .DeploymentMeta.Name | quote }}]
`;

const meshConfig = defaultMeshConfig();
export const injector: Injector = {
  config: parseInjectorConfig(JSON.stringify({ policy: "enabled", templates: { sidecar: template } }), {
    environment: {},
    now: Date.now,
  }),
  values: parseValues("global: {hub: docker.io/istio, tag: 1.30.0}"),
  meshConfig,
  revision: "",
  compliancePolicy: "",
  proxyConfig: (target) => effectiveProxyConfig(meshConfig, [], target),
  nativeSidecars: () => false,
};

export const answer = (pod: unknown) => mutatePod({ object: pod, namespace: "shop", path: "/inject" }, injector);
