import type { FieldPath } from "../decoding/report.js";
import { type ListSlice, listSlices } from "./list-slices.js";
import { type DocumentText, parseWithPositions, splitDocuments, type ParsedDocument } from "./yaml.js";

/** Characters of a List that are parsed together. The first ones take about 10 µs each, later ones 2 µs. */
const sliceLength = 4 * 1024;

/**
 * Finds the lines of fields in one file's text. Each document is parsed once, when first needed; of a long List, only
 * the items around the needed one.
 */
export class FieldLines {
  readonly #documents: readonly DocumentText[];
  readonly #parsed = new Map<DocumentText, ParsedDocument | undefined>();
  readonly #slices = new Map<DocumentText, readonly ListSlice[]>();

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
    return (
      this.#lineInSlice(document, at, field) ?? this.#positions(document)?.lineOf([...at.path, ...field]) ?? at.line
    );
  }

  /**
   * Returns undefined for a document that is not a long List, and if the slice is malformed or does not have the object
   * at its line.
   */
  #lineInSlice(
    document: DocumentText,
    { line, path: [items, index, ...path] }: { readonly line: number; readonly path: FieldPath },
    field: FieldPath,
  ): number | undefined {
    if (items !== "items" || typeof index !== "number") return undefined;
    let slices = this.#slices.get(document);
    if (slices === undefined) this.#slices.set(document, (slices = listSlices(document, sliceLength) ?? []));
    const slice = slices.findLast(({ first }) => first <= index);
    const positions = slice && this.#positions(slice.document);
    if (slice === undefined || positions === undefined) return undefined;
    const object = [items, index - slice.first, ...path];
    return positions.lineOf(object) === line ? positions.lineOf([...object, ...field]) : undefined;
  }

  #positions(document: DocumentText): ParsedDocument | undefined {
    if (!this.#parsed.has(document)) {
      const parsed = parseWithPositions(document);
      this.#parsed.set(document, "message" in parsed ? undefined : parsed);
    }
    return this.#parsed.get(document);
  }
}
