import { nearestNames } from "@istiod/settings";
import { type Node, parse } from "./parse.js";
import { SyntaxFault } from "./tokens.js";

/** Attributes of Envoy, and those that its Wasm extensions and Istio's metrics know in addition. */
const attributes: ReadonlySet<string> = new Set(
  (
    "request response source destination connection upstream metadata filter_state upstream_filter_state xds node " +
    "upstream_peer downstream_peer cluster_name cluster_metadata route_name route_metadata listener_direction " +
    "listener_metadata upstream_host_metadata plugin_name plugin_root_id plugin_vm_id"
  ).split(" "),
);

/** Fields of attributes that have no others. Source: Envoy's documentation of attributes. */
const fields: Readonly<Record<string, readonly string[]>> = {
  request: (
    "path url_path host scheme method headers referer useragent time id protocol query duration size total_size " +
    "body operation"
  ).split(" "),
  response:
    "code code_details flags grpc_status headers trailers size total_size backend_latency transport_failure_reason".split(
      " ",
    ),
};

/** Functions and types that are called by their names. */
type Named = Node & { readonly kind: "identifier" };

/**
 * Returns the fault of an attribute that proxies do not have; undefined if there is none, or if the expression is not
 * valid CEL. An attribute of which only a field is unknown is reported if the field is similar to a known one.
 */
export function attributeFault(expression: string): string | undefined {
  try {
    return faultOf(parse(expression));
  } catch (cause) {
    if (cause instanceof SyntaxFault) return undefined;
    throw cause;
  }
}

function faultOf(node: Node): string | undefined {
  if (node.kind === "identifier") {
    const name = node.name.replace(/^\./, "");
    // Plugins of Istio add attributes such as istio_operationId.
    if (attributes.has(name) || name.startsWith("istio_")) return undefined;
    return `has the attribute ${name}, which proxies do not have${similar(name, attributes)}`;
  }
  if (node.kind === "select") {
    const [operand] = node.children;
    const known = operand?.kind === "identifier" ? fields[(operand as Named).name] : undefined;
    if (known !== undefined && !known.includes(node.field)) {
      const near = nearestNames(node.field, known, 1);
      if (near.length > 0)
        return `has the attribute ${(operand as Named).name}.${node.field}, which proxies do not have; did you mean ${near[0]}?`;
    }
  }
  // The target of a function of a namespace, `re.extract`, is not an attribute.
  const children = node.kind === "call" && node.target?.kind === "identifier" ? node.args : node.children;
  for (const child of children) {
    const fault = faultOf(child);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

function similar(name: string, of: Iterable<string>): string {
  const [near] = nearestNames(name, of, 1);
  return near === undefined ? "" : `; did you mean ${near}?`;
}
