import { LineCounter, parseDocument, type ScalarTag, type YAMLParseError } from "yaml";
import type { FieldPath } from "../decoding/report.js";
import { isNestedAbsurdly, isTooDeep, maxDepth } from "./nesting.js";
import { booleanWord, plainBoolean, plainNumber } from "./plain-scalars.js";
import { readPlainly } from "./plain-yaml.js";
import { mendTrailingColons } from "./trailing-colon.js";
import { duplicateOf, offsetOf, wordAt } from "./yaml-nodes.js";

/** One document of a file. */
export interface DocumentText {
  readonly text: string;
  /** Line of the file that its first line is, from 1. */
  readonly line: number;
}

/**
 * A document that could be parsed: its value, and where in the file a path is. Lines are found when they are first
 * asked for.
 */
export interface ParsedDocument {
  /** JSON values; null for a document without content. */
  readonly value: unknown;
  /** Line of the file, from 1, where the deepest existing part of a path begins. */
  lineOf(path: FieldPath): number;
  /** The unquoted word that the file has at a path; undefined for anything else there. */
  readonly wordAt: (path: FieldPath) => string | undefined;
}

export interface SyntaxFault {
  readonly line: number;
  readonly message: string;
}

/** Longest run of aliases that a document may expand to: a guard against documents made to explode. */
const maxAliasCount = 1000;

/** Unquoted words as Kubernetes reads them. Times stay text. */
const words: ScalarTag[] = [
  {
    tag: "tag:yaml.org,2002:bool",
    default: true,
    test: booleanWord,
    resolve: (word) => plainBoolean(word) ?? word,
    identify: () => false,
  },
  {
    tag: "tag:yaml.org,2002:int",
    default: true,
    test: /^[-+]?\.?[0-9]/,
    resolve: (word) => plainNumber(word) ?? word,
    identify: () => false,
  },
];

/** Lines before a `---` that belong to the document after it. */
const directives = /^(?:[^\S\r\n]*(?:#.*)?\r?\n)*%.*\r?\n(?:[^\S\r\n]*(?:[#%].*)?\r?\n)*$/;

/**
 * Splits a file at its `---` lines, so that a document that cannot be parsed takes no other with it. Empty ones are
 * left out.
 */
export function splitDocuments(text: string): readonly DocumentText[] {
  const documents: DocumentText[] = [];
  let line = 1;
  let from = 0;
  let fromLine = 1;
  const take = (to: number): void => {
    const part = text.slice(from, to);
    if (/^[^\S\r\n]*[^#\s]/m.test(part.replace(/^---/, ""))) documents.push({ text: part, line: fromLine });
  };
  for (let at = 0; at < text.length; line++) {
    const newline = text.indexOf("\n", at);
    const end = newline < 0 ? text.length : newline + 1;
    if (text.startsWith("---", at) && /^---(?:\s|$)/.test(text.slice(at, Math.min(end, at + 5)))) {
      if (!directives.test(text.slice(from, at))) {
        take(at);
        from = at;
        fromLine = line;
      }
    }
    at = end;
  }
  take(text.length);
  return documents;
}

/** Parses one document, which must not hold another. Never throws. */
export function parseYaml(document: DocumentText): ParsedDocument | SyntaxFault {
  if (isNestedAbsurdly(document.text)) return tooDeep(document);
  const quick = readPlainly(document.text);
  if (quick === undefined) return parseWithPositions(document);
  if (isTooDeep(quick.value)) return tooDeep(document);
  let parsed: ParsedDocument | SyntaxFault | undefined;
  const positioned = (): ParsedDocument | undefined => {
    parsed ??= parseWithPositions(document);
    return "message" in parsed ? undefined : parsed;
  };
  return {
    value: quick.value,
    lineOf(path) {
      if (path.length === 0) return document.line + firstContentLine(document.text);
      return positioned()?.lineOf(path) ?? document.line;
    },
    wordAt: (path) => positioned()?.wordAt(path),
  };
}

/** Parses with the parser that keeps positions, and that says what is wrong with a document. Never throws. */
export function parseWithPositions(document: DocumentText): ParsedDocument | SyntaxFault {
  const lines = new LineCounter();
  const line = (offset: number): number => document.line + Math.max(0, lines.linePos(offset).line - 1);
  try {
    const parsed = parseDocument(document.text, {
      lineCounter: lines,
      merge: true,
      customTags: (tags) => [...words, ...tags],
      prettyErrors: false,
      logLevel: "silent",
    });
    mendTrailingColons(parsed, document.text);
    const duplicateKey = ({ code, pos }: YAMLParseError): string | undefined => {
      const duplicate = code === "DUPLICATE_KEY" ? duplicateOf(parsed, pos[0]) : undefined;
      return duplicate && `key ${duplicate.key} is already set on line ${line(duplicate.firstOffset)}`;
    };
    const fault = parsed.errors[0];
    if (fault !== undefined)
      return { line: line(fault.pos[0]), message: duplicateKey(fault) ?? told(document, fault.message) };
    const value: unknown = parsed.toJS({ maxAliasCount });
    if (isTooDeep(value)) return tooDeep(document);
    return { value, lineOf: (path) => line(offsetOf(parsed, path)), wordAt: (path) => wordAt(parsed, path) };
  } catch (cause) {
    if (cause instanceof RangeError) return tooDeep(document);
    return { line: document.line, message: told(document, cause instanceof Error ? cause.message : String(cause)) };
  }
}

function tooDeep(document: DocumentText): SyntaxFault {
  return { line: document.line, message: `it is nested more than ${maxDepth} levels deep` };
}

/** Lines above the first that holds more than a marker or a comment. */
function firstContentLine(text: string): number {
  const at = text.search(/^(?!---(?:\s|$))[^\S\r\n]*[^#\s]|^---[^\S\r\n]+[^#\s]/m);
  return at <= 0 ? 0 : text.slice(0, at).split("\n").length - 1;
}

/** What the parser says is wrong. After a colon it quotes the text, which is left out where that may be a Secret's. */
function told({ text }: DocumentText, message: string): string {
  const [sentence = message] = message.split("\n", 1);
  return /\bkind["']?\s*:\s*["']?Secret\b/.test(text) ? sentence.replace(/: .*$/, "") : sentence;
}
