import { quote } from "../values/quote.js";
import type { NumberConstant } from "./number-constant.js";

interface At {
  /** Offset in the source, in UTF-16 code units. */
  readonly position: number;
}

/** Nodes that an action evaluates. */
export type Expression =
  | (At & { readonly kind: "bool"; readonly value: boolean })
  | (At & { readonly kind: "dot" })
  | (At & { readonly kind: "nil" })
  | (At & { readonly kind: "number"; readonly constant: NumberConstant; readonly text: string })
  | (At & { readonly kind: "string"; readonly value: string; readonly quoted: string })
  | IdentifierNode
  | FieldNode
  | VariableNode
  | ChainNode
  | PipeNode;

/** Name of a function. */
export type IdentifierNode = At & { readonly kind: "identifier"; readonly name: string };
/** Fields of dot, such as `.x.y`. */
export type FieldNode = At & { readonly kind: "field"; readonly names: readonly string[] };
/** A variable and possibly fields, such as `$x.y`. */
export type VariableNode = At & {
  readonly kind: "variable";
  readonly name: string;
  readonly fields: readonly string[];
};
/** Fields of an expression, such as `(f .x).y`. */
export type ChainNode = At & {
  readonly kind: "chain";
  readonly operand: Expression;
  readonly fields: readonly string[];
};
/** Commands of which each passes its result to the next one. */
export type PipeNode = At & {
  readonly kind: "pipe";
  /** True if the variables are assigned, false if they are declared. */
  readonly isAssignment: boolean;
  readonly variables: readonly VariableNode[];
  readonly commands: readonly CommandNode[];
};
/** A function, field or constant, and arguments. */
export type CommandNode = At & { readonly kind: "command"; readonly words: readonly [Expression, ...Expression[]] };

/** Nodes of which a template consists. */
export type Statement =
  | (At & { readonly kind: "text"; readonly text: string })
  | (At & { readonly kind: "action"; readonly pipe: PipeNode })
  | (At & { readonly kind: "break" })
  | (At & { readonly kind: "continue" })
  | BranchNode
  | TemplateNode;

/** `if`, `with` or `range`. */
export type BranchNode = At & {
  readonly kind: "if" | "with" | "range";
  readonly pipe: PipeNode;
  readonly list: readonly Statement[];
  readonly elseList: readonly Statement[] | undefined;
};
/** A call of another template. */
export type TemplateNode = At & {
  readonly kind: "template";
  readonly name: string;
  readonly pipe: PipeNode | undefined;
};

/** A node that an error may name. */
export type Node = Expression | CommandNode | Statement;

/** Returns the source of a node in Go's normal form. */
export function nodeText(node: Node): string {
  switch (node.kind) {
    case "bool":
      return String(node.value);
    case "dot":
      return ".";
    case "nil":
      return "nil";
    case "number":
      return node.text;
    case "string":
      return node.quoted;
    case "identifier":
      return node.name;
    case "field":
      return node.names.map((name) => `.${name}`).join("");
    case "variable":
      return [node.name, ...node.fields].join(".");
    case "chain":
      return [wordText(node.operand), ...node.fields].join(".");
    case "command":
      return node.words.map(wordText).join(" ");
    case "pipe":
      return pipeText(node);
    default:
      return statementText(node);
  }
}

const wordText = (word: Expression): string => (word.kind === "pipe" ? `(${pipeText(word)})` : nodeText(word));

function pipeText({ variables, isAssignment, commands }: PipeNode): string {
  const declared = variables.map(nodeText).join(", ");
  const prefix = variables.length === 0 ? "" : `${declared} ${isAssignment ? "=" : ":="} `;
  return prefix + commands.map(nodeText).join(" | ");
}

function statementText(node: Statement): string {
  switch (node.kind) {
    case "text":
      return node.text;
    case "action":
      return `{{${pipeText(node.pipe)}}}`;
    case "template":
      return `{{template ${quote(node.name)}${node.pipe === undefined ? "" : ` ${pipeText(node.pipe)}`}}}`;
    case "break":
    case "continue":
      return `{{${node.kind}}}`;
    default: {
      const otherwise = node.elseList === undefined ? "" : `{{else}}${node.elseList.map(statementText).join("")}`;
      return `{{${node.kind} ${pipeText(node.pipe)}}}${node.list.map(statementText).join("")}${otherwise}{{end}}`;
    }
  }
}

/** Reports whether statements are only spaces. */
export const isEmpty = (statements: readonly Statement[]): boolean =>
  statements.every((node) => node.kind === "text" && node.text.trim() === "");
