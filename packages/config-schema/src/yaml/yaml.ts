import { reasonOf } from "@istiod/runtime";
import { LineCounter, parseDocument, type ScalarTag, type YAMLParseError } from "yaml";
import type { FieldPath } from "../decoding/report.js";
import { isNestedTooDeeply, isTooDeep, maxDepth } from "./nesting.js";
import { booleanWord, plainBoolean, plainNumber } from "./plain-scalars.js";
import { maybeHasNoJson, parsePlainYaml, parseYamlWithoutAnchors } from "./plain-yaml.js";
import { mayEndInBlock, removeAddedLineBreak } from "./last-block.js";
import { restoreTrailingColons } from "./trailing-colon.js";
import { explicitTags } from "./explicit-tags.js";
import { duplicateOf, noJsonFault, offsetOf, wordAt } from "./yaml-nodes.js";

/** The text of one document of a file. */
export interface DocumentText {
  readonly text: string;
  /** Line of the file where the document begins, from 1. */
  readonly line: number;
}

/** A parsed document: its value and the lines of its fields, which are computed when first needed. */
export interface ParsedDocument {
  /** JSON values; null for a document without content. */
  readonly value: unknown;
  /** Returns the line of the file, from 1, where the deepest existing part of a path begins. */
  lineOf(path: FieldPath): number;
  /** Returns the unquoted word in the file at a path; undefined for any other node. */
  readonly wordAt: (path: FieldPath) => string | undefined;
}

export interface SyntaxFault {
  readonly line: number;
  readonly message: string;
}

/** Maximum number of alias expansions in a document, a guard against exponential expansion. */
const maxAliasCount = 1000;

/**
 * Maximum length in characters of what is parsed in one piece. Kubernetes limits objects to about 1.5 MiB. A List that
 * is read in slices may be longer.
 */
const maxLength = 4 * 1024 * 1024;

/**
 * Maximum length of a document that is parsed with positions, which takes about seven times as long. Faults of a longer
 * one are reported at its first line.
 */
const maxPositionedLength = 512 * 1024;

/** Unquoted words as Kubernetes reads them. Times are strings. */
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
    test: /^[-+]?_*(?:\._*)?[0-9]/,
    resolve: (word) => plainNumber(word) ?? word,
    identify: () => false,
  },
];

/** Directives before a `---` that belong to the following document. */
const directives = /^(?:[^\S\r\n]*(?:#.*)?\r?\n)*%.*\r?\n(?:[^\S\r\n]*(?:[#%].*)?\r?\n)*$/;

/**
 * Splits a file at its `---` lines, so that a malformed document does not affect the others. Empty documents are
 * skipped.
 */
export function splitDocuments(text: string): readonly DocumentText[] {
  return [...documentsOf(text)];
}

/** Yields the documents of a file one by one: see {@link splitDocuments}. */
export function* documentsOf(text: string): Generator<DocumentText> {
  let line = 1;
  let from = 0;
  let fromLine = 1;
  for (let at = 0; at < text.length; line++) {
    const newline = text.indexOf("\n", at);
    const end = newline < 0 ? text.length : newline + 1;
    if (text.startsWith("---", at) && /^---(?:\s|$)/.test(text.slice(at, Math.min(end, at + 5)))) {
      if (!directives.test(text.slice(from, at))) {
        yield* documentIn(text.slice(from, at), fromLine);
        from = at;
        fromLine = line;
      }
    }
    at = end;
  }
  yield* documentIn(text.slice(from), fromLine);
}

function documentIn(text: string, line: number): readonly DocumentText[] {
  return /^[^\S\r\n]*[^#\s]/m.test(text.replace(/^---/, "")) ? [{ text, line }] : [];
}

/** Options of parsing. */
export interface ParseOptions {
  /** Accepts a key that a mapping has twice, with its last value. Default: false. */
  readonly allowsDuplicateKeys?: boolean;
}

/** Parses one document. Never throws. */
export function parseYaml(document: DocumentText, options: ParseOptions = {}): ParsedDocument | SyntaxFault {
  const size = document.text.length;
  if (size > maxLength)
    return { line: document.line, message: `it has ${size} characters, expected at most ${maxLength} in one document` };
  if (isNestedTooDeeply(document.text)) return tooDeep(document);
  const isQuick = size > maxPositionedLength || !(maybeHasNoJson(document.text) || mayEndInBlock(document.text));
  const quick =
    (isQuick ? parsePlainYaml(document.text, options) : undefined) ??
    (size > maxPositionedLength ? parseYamlWithoutAnchors(document.text, options) : undefined);
  if (quick === undefined)
    return size > maxPositionedLength ? tooLongForPositions(document) : parseWithPositions(document, options);
  if (isTooDeep(quick.value)) return tooDeep(document);
  if (size > maxPositionedLength) return { value: quick.value, lineOf: () => document.line, wordAt: () => undefined };
  let parsed: ParsedDocument | SyntaxFault | undefined;
  const positioned = (): ParsedDocument | undefined => {
    parsed ??= parseWithPositions(document, options);
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

/** Parses one document with positions and detailed errors. Never throws. */
export function parseWithPositions(
  document: DocumentText,
  { allowsDuplicateKeys = false }: ParseOptions = {},
): ParsedDocument | SyntaxFault {
  const lines = new LineCounter();
  const line = (offset: number): number => document.line + Math.max(0, lines.linePos(offset).line - 1);
  try {
    const parsed = parseDocument(document.text, {
      lineCounter: lines,
      merge: true,
      uniqueKeys: !allowsDuplicateKeys,
      customTags: (tags) => [...words, ...explicitTags, ...tags],
      prettyErrors: false,
      logLevel: "silent",
    });
    restoreTrailingColons(parsed, document.text);
    removeAddedLineBreak(parsed, document.text);
    const duplicateKey = ({ code, pos }: YAMLParseError): string | undefined => {
      const duplicate = code === "DUPLICATE_KEY" ? duplicateOf(parsed, pos[0]) : undefined;
      return duplicate && `key ${duplicate.key} is already set on line ${line(duplicate.firstOffset)}`;
    };
    const fault = parsed.errors[0];
    if (fault !== undefined)
      return { line: line(fault.pos[0]), message: duplicateKey(fault) ?? syntaxMessage(document, fault.message) };
    const noJson = noJsonFault(parsed);
    if (noJson !== undefined) return { line: line(noJson.offset), message: noJson.message };
    const value: unknown = parsed.toJS({ maxAliasCount });
    if (isTooDeep(value)) return tooDeep(document);
    return { value, lineOf: (path) => line(offsetOf(parsed, path)), wordAt: (path) => wordAt(parsed, path) };
  } catch (cause) {
    if (cause instanceof RangeError) return tooDeep(document);
    return {
      line: document.line,
      message: syntaxMessage(document, reasonOf(cause)),
    };
  }
}

function tooLongForPositions(document: DocumentText): SyntaxFault {
  return {
    line: document.line,
    message: `it is malformed or has anchors or tags, which a document of more than ${maxPositionedLength} characters cannot have`,
  };
}

function tooDeep(document: DocumentText): SyntaxFault {
  return { line: document.line, message: `it is nested more than ${maxDepth} levels deep` };
}

/** Returns the number of lines before the first content. */
function firstContentLine(text: string): number {
  const at = text.search(/^(?!---(?:\s|$))[^\S\r\n]*[^#\s]|^---[^\S\r\n]+[^#\s]/m);
  return at <= 0 ? 0 : text.slice(0, at).split("\n").length - 1;
}

/** Formats a parser's error. The text that it quotes after a colon is removed if it may be a Secret's. */
function syntaxMessage({ text }: DocumentText, message: string): string {
  const [sentence = message] = message.split("\n", 1);
  return /\bkind["']?\s*:\s*["']?Secret\b/.test(text) ? sentence.replace(/: .*$/, "") : sentence;
}
