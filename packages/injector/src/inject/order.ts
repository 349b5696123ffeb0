import type { JsonObject } from "../go-types/json.js";
import { type ContainerList, containersOf, named, proxyContainer, specOf } from "../pod-fields.js";

/**
 * Orders the containers of an injected pod. The proxy is the last container, so that `kubectl exec` keeps choosing the
 * application, or the first one where the application waits for it. As an init container, the proxy is first but for
 * the one that redirects traffic, so that other init containers are in the mesh; else redirection comes last, so that
 * they can reach the network.
 */
export function orderContainers(pod: JsonObject, proxyFirst: boolean): void {
  move(pod, "containers", proxyContainer, proxyFirst);
  const isNative = named(containersOf(pod, "initContainers"), proxyContainer) !== undefined;
  const moves: readonly (readonly [string, boolean])[] = isNative
    ? [
        ["enable-core-dump", true],
        [proxyContainer, true],
        ["istio-validation", true],
        ["istio-init", true],
      ]
    : [
        ["istio-validation", true],
        ["istio-init", false],
        ["enable-core-dump", false],
      ];
  for (const [name, first] of moves) move(pod, "initContainers", name, first);
}

function move(pod: JsonObject, list: ContainerList, name: string, first: boolean): void {
  const containers = containersOf(pod, list);
  const moved = containers.filter((container) => container["name"] === name).slice(-1);
  if (moved.length === 0) return;
  const others = containers.filter((container) => container["name"] !== name);
  specOf(pod)[list] = first ? [...moved, ...others] : [...others, ...moved];
}
