import type { HTTPMatchRequest, StringMatch } from "@istiod/istio-api/networking/v1alpha3/virtual_service";

/**
 * Reports whether a delegate's match cannot hold together with the root's, or would match requests that the root does
 * not (pilot/pkg/model/virtualservice.go, hasConflict).
 */
export function matchesConflict(root: HTTPMatchRequest, leaf: HTTPMatchRequest): boolean {
  return (
    (["uri", "scheme", "method", "authority"] as const).some((part) => stringsConflict(root[part], leaf[part])) ||
    (["headers", "withoutHeaders", "queryParams"] as const).some((part) =>
      Object.entries(leaf[part]).some(([name, match]) => stringsConflict(root[part][name], match)),
    ) ||
    root.ignoreUriCase !== leaf.ignoreUriCase ||
    (root.port > 0 && leaf.port > 0 && root.port !== leaf.port) ||
    (root.sourceNamespace !== "" && leaf.sourceNamespace !== root.sourceNamespace) ||
    Object.entries(leaf.sourceLabels).some(([name, value]) => (root.sourceLabels[name] ?? value) !== value) ||
    gatewaysConflict(root.gateways, leaf.gateways)
  );
}

function gatewaysConflict(root: readonly string[], leaf: readonly string[]): boolean {
  return (
    root.length > 0 && leaf.length > 0 && (root.length < leaf.length || leaf.some((gateway) => !root.includes(gateway)))
  );
}

/**
 * Reports whether the delegate's string match could match strings that the root's does not. An unset match does not
 * conflict.
 */
function stringsConflict(root: StringMatch | undefined, leaf: StringMatch | undefined): boolean {
  if (root === undefined || leaf === undefined) {
    return false;
  }
  const { case: rootCase, value: rootValue = "" } = root.matchType;
  const { case: leafCase, value: leafValue = "" } = leaf.matchType;
  if (rootValue === "") {
    return true;
  }
  switch (rootCase) {
    case "exact":
      return leafCase !== "exact" || leafValue !== rootValue;
    case "prefix":
      return leafCase === "regex" || !leafValue.startsWith(rootValue) || leafValue === "";
    default:
      return true;
  }
}
