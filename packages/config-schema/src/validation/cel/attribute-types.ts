import { type Node, parse } from "./parse.js";
import { SyntaxFault } from "./tokens.js";

/** Attributes of Envoy that are whole numbers. Source: Envoy's documentation of attributes. */
const numbers: ReadonlySet<string> = new Set([
  "request.size",
  "request.total_size",
  "response.code",
  "response.flags",
  "response.grpc_status",
  "response.size",
  "response.total_size",
  "source.port",
  "destination.port",
  "upstream.port",
]);

const comparisons: ReadonlySet<string> = new Set(["<", "<=", ">", ">=", "=="]);

/**
 * Explains that a condition is never true because of the types of attributes, by itself or by an operand of `&&`;
 * undefined if it may be true, or if it is not valid CEL.
 */
export function conditionFault(expression: string): string | undefined {
  try {
    const root = parse(expression);
    const name = numberIn(root);
    return name === undefined
      ? comparisonFault(root)
      : `is ${name}, a number, which is not true, expected a comparison`;
  } catch (cause) {
    if (cause instanceof SyntaxFault) return undefined;
    throw cause;
  }
}

function comparisonFault(node: Node): string | undefined {
  if (node.kind === "operator" && comparisons.has(node.symbol ?? "")) {
    const name = node.children.map(numberIn).find(Boolean);
    const text = node.children.map((child) => (child.kind === "literal" ? child.string : undefined)).find(Boolean);
    if (name !== undefined && text !== undefined)
      return `compares ${name}, a number, with ${JSON.stringify(text)}, a string, which is never true, expected ${/^\d+$/.test(text) ? text : "a number"} without quotes`;
  }
  if (node.kind !== "operator" || node.symbol !== "&&") return undefined;
  for (const operand of node.children) {
    const fault = comparisonFault(operand);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

/** Returns the name of an attribute that is a number. */
function numberIn(node: Node): string | undefined {
  const [operand] = node.children;
  if (node.kind !== "select" || operand?.kind !== "identifier") return undefined;
  const name = `${operand.name}.${node.field}`;
  return numbers.has(name) ? name : undefined;
}
