import { query, type QueryContext } from "@istiod/incremental";
import { TrafficExtension_ExecutionPhase as Phase } from "@istiod/istio-api/extensions/v1alpha1/traffic_extension";
import { WorkloadMode } from "@istiod/istio-api/type/v1beta1/selector";
import { namespaceAmong } from "../attachment/own-namespace.js";
import { appliesToClient } from "../attachment/policy-attachment.js";
import { rootNamespace } from "../mesh/mesh-config.js";
import type { ListenerClass } from "../telemetry/listener-class.js";
import { type Extension, extension, extensionNamespaces, namespaceExtensions } from "./traffic-extension.js";

/** Names of the extensions in a filter chain, by their position, in the order of the filters. */
export interface ChainExtensions {
  readonly beforeAuthentication: readonly string[];
  readonly beforeAuthorization: readonly string[];
  readonly afterAuthorization: readonly string[];
}

export const noExtensions: ChainExtensions = {
  beforeAuthentication: [],
  beforeAuthorization: [],
  afterAuthorization: [],
};

/** The traffic of a filter chain. */
export interface ExtendedChain {
  readonly type: Extension["type"];
  readonly listener: ListenerClass;
  /** Port of the service or listener for outbound traffic, of the workload for inbound traffic; 0 if it is unknown. */
  readonly port: number;
}

/** Returns the extensions of a filter chain. */
export function chainExtensions(q: QueryContext, { type, listener, port }: ExtendedChain): ChainExtensions {
  const applicable = q.call(applicableExtensions);
  if (applicable.length === 0) return noExtensions;
  const found = applicable.filter((each) => each.type === type && matches(each, listener, port));
  const of = (...phases: readonly Phase[]): readonly string[] =>
    phases.flatMap((phase) => found.filter((each) => each.phase === phase).map(({ resourceName }) => resourceName));
  return found.length === 0
    ? noExtensions
    : {
        beforeAuthentication: of(Phase.AUTHN),
        beforeAuthorization: of(Phase.AUTHZ),
        afterAuthorization: of(Phase.STATS, Phase.UNSPECIFIED),
      };
}

/** An extension of the client, as far as filter chains depend on it. */
type AppliedExtension = Pick<Extension, "resourceName" | "type" | "phase" | "match">;

/**
 * The extensions of the client's namespace and the root namespace that apply to the client, ordered by priority and
 * age. Source: pilot/pkg/model/push_context.go, TrafficExtensionsByListenerInfo.
 */
export const applicableExtensions = query("applicableExtensions", (q): readonly AppliedExtension[] => {
  const namespaces = q.call(extensionNamespaces);
  const root = rootNamespace(q);
  const others = namespaces.filter((namespace) => namespace !== root);
  const own = others.length === 0 ? undefined : q.ask(namespaceAmong, others);
  return [...(own === undefined ? [] : [own]), root]
    .flatMap((namespace) => q.call(namespaceExtensions, namespace))
    .filter((each) => appliesToClient(q, each))
    .sort((a, b) => priorityOf(b) - priorityOf(a))
    .map(({ resourceName, type, phase, match }) => ({ resourceName, type, phase, match }));
});

/**
 * The extension with a resource name if the client may have it: of its own namespace or the root namespace, whether or
 * not it applies to the client at present.
 */
export const permittedExtension = query("permittedExtension", (q, resourceName: string): Extension | undefined => {
  const found = q.call(extension, resourceName);
  if (found === undefined || found.namespace === rootNamespace(q)) return found;
  return q.ask(namespaceAmong, [found.namespace]) === undefined ? undefined : found;
});

function priorityOf({ priority }: Extension): number {
  return priority ?? -(2 ** 31);
}

function matches({ match }: AppliedExtension, listener: ListenerClass, port: number): boolean {
  return (
    match.length === 0 ||
    match.some(
      ({ mode, ports }) =>
        (mode === WorkloadMode.UNDEFINED || mode === WorkloadMode.CLIENT_AND_SERVER || mode === modeOf(listener)) &&
        (ports.length === 0 || ports.some(({ number }) => number !== 0 && number === port)),
    )
  );
}

function modeOf(listener: ListenerClass): WorkloadMode {
  return listener === "sidecar-inbound" ? WorkloadMode.SERVER : WorkloadMode.CLIENT;
}
