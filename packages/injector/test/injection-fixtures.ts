import { applyJsonPatch } from "@istiod/injector/testing";
import { applyMeshConfig } from "@istiod/config-schema";
import {
  effectiveProxyConfig,
  type Injector,
  type Mutation,
  type MutationRequest,
  mutatePod,
  parseInjectorConfig,
  parseValues,
} from "@istiod/injector";

/** Fields of a Pod that tests read. */
export interface TestPod {
  readonly metadata: {
    readonly name?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec: {
    readonly containers: readonly TestContainer[];
    readonly initContainers?: readonly TestContainer[];
    readonly nodeName?: string;
  };
}

interface TestContainer {
  readonly name: string;
  readonly image?: string;
  readonly args?: readonly string[];
  readonly env?: readonly { readonly name: string; readonly value?: string }[];
  readonly resources?: { readonly limits?: Readonly<Record<string, string>> };
  readonly securityContext?: { readonly runAsUser?: number; readonly runAsGroup?: number };
  readonly readinessProbe?: unknown;
}

/** A template with the parts of Istio's that injection treats by name. */
export const sidecar = `
spec:
  initContainers:
  - name: istio-init
    image: init
    args: ["-u", "{{ .ProxyUID }}"]
  {{- if eq (index .ObjectMeta.Annotations "sidecar.istio.io/nativeSidecar" | default (printf "%t" .NativeSidecars)) "false" }}
  containers:
  {{- end }}
  - name: istio-proxy
    image: {{ .ProxyImage }}
    securityContext: {runAsUser: {{ .ProxyUID }}, runAsGroup: {{ .ProxyGID }}}
    env:
    - name: WORKLOAD
      value: {{ printf "%s/%s" .TypeMeta.Kind .DeploymentMeta.Name | quote }}
`;

export interface Options {
  readonly templates?: Readonly<Record<string, string>>;
  readonly config?: object;
  readonly values?: object;
  readonly mesh?: object;
  readonly injector?: Partial<Injector>;
}

/** Returns an injector with the template `sidecar` and others. */
export function injectorOf({ templates, config, values, mesh, injector }: Options = {}): Injector {
  const meshConfig = applyMeshConfig(mesh ?? {}, {
    error: (path, message) => {
      throw new Error(`${path.join(".")} ${message}`);
    },
    warning: () => undefined,
  });
  if (meshConfig === undefined) throw new Error("no mesh configuration");
  const json = JSON.stringify({ policy: "enabled", templates: { sidecar, ...templates }, ...config });
  return {
    config: parseInjectorConfig(json, { environment: {}, now: () => 0 }),
    values: parseValues(JSON.stringify({ global: { hub: "hub", tag: "1" }, ...values })),
    meshConfig,
    revision: "",
    compliancePolicy: "",
    proxyConfig: (target) => effectiveProxyConfig(meshConfig, [], target),
    nativeSidecars: () => false,
    ...injector,
  };
}

/** Returns a Pod with a container `app`. */
export const podOf = (
  annotations: Readonly<Record<string, string>> = {},
  containers: readonly object[] = [],
): { readonly metadata: object; readonly spec: object } => ({
  metadata: { name: "web", namespace: "shop", annotations },
  spec: { containers: [{ name: "app", image: "app" }, ...containers] },
});

/** Returns the pod after injection. @throws Error if it is refused or skipped */
export function injected(pod: object, options: Options = {}, request: Partial<MutationRequest> = {}): TestPod {
  const mutation = mutatePod({ object: pod, ...request }, injectorOf(options));
  return patched(pod, mutation);
}

/** Applies the patch of an answer. */
export function patched(pod: object, mutation: Mutation): TestPod {
  if (mutation.outcome !== "injected") throw new Error(JSON.stringify(mutation));
  return applyJsonPatch(pod, mutation.patch) as TestPod;
}

/** Returns the message with which a pod is refused. */
export function refusal(pod: object, options: Options = {}): string {
  const mutation = mutatePod({ object: pod }, injectorOf(options));
  return mutation.outcome === "failed" ? mutation.message : mutation.outcome;
}

export const names = (containers: readonly { readonly name: string }[] | undefined): readonly string[] =>
  (containers ?? []).map(({ name }) => name);
