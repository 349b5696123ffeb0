import { reasonOf } from "@istiod/runtime";
import { isStackOverflow } from "../budget.js";
import { TemplateError } from "../error.js";
import { type Node, nodeText } from "../parse/nodes.js";
import type { Definition } from "../parse/parser.js";
import { byteLength } from "../values/strings.js";

/** Returns the error of an execution, with the place of the node that was evaluated. */
export function executionError(cause: unknown, definition: Definition, node: Node | undefined): TemplateError {
  if (cause instanceof TemplateError) return cause;
  if (isStackOverflow(cause)) return new TemplateError("limit", "template: exceeded the maximum depth", { cause });
  const message = reasonOf(cause);
  const prefix = `template: ${definition.source.name}`;
  if (node === undefined) return new TemplateError("execute", `${prefix}: ${message}`, { cause });
  const place = `${placeOf(definition, node)}: executing "${definition.name}" at <${nodeText(node)}>`;
  return new TemplateError("execute", `${prefix}:${place}: ${message}`, { cause });
}

function placeOf({ source }: Definition, { position }: Node): string {
  const before = source.text.slice(0, position);
  const lineStart = before.lastIndexOf("\n") + 1;
  const line = before.split("\n").length;
  return `${line}:${byteLength(before.slice(lineStart))}`;
}
