import type { FieldPath } from "../decoding/report.js";
import { parseWithPositions, splitDocuments, type ParsedDocument } from "./yaml.js";

/** Finds the lines of fields in one file's text. Each document is parsed once, when first needed. */
export class FieldLines {
  readonly #documents: readonly { readonly line: number; readonly text: string }[];
  readonly #parsed = new Map<number, ParsedDocument | undefined>();

  constructor(text: string) {
    this.#documents = splitDocuments(text);
  }

  /**
   * Returns the line, from 1, where the deepest existing part of a field's path begins.
   *
   * @param at line of the object, and its path in its document
   * @param field path of the field from the root of the object; empty: the line of the object itself
   */
  lineOf(at: { readonly line: number; readonly path: FieldPath }, field: FieldPath): number {
    if (field.length === 0) return at.line;
    const document = this.#documents.findLast(({ line }) => line <= at.line);
    if (document === undefined) return at.line;
    return this.#positions(document)?.lineOf([...at.path, ...field]) ?? at.line;
  }

  #positions(document: { readonly line: number; readonly text: string }): ParsedDocument | undefined {
    if (!this.#parsed.has(document.line)) {
      const parsed = parseWithPositions(document);
      this.#parsed.set(document.line, "message" in parsed ? undefined : parsed);
    }
    return this.#parsed.get(document.line);
  }
}
