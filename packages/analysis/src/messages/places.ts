import { type Ledger } from "@istiod/config-ingestion";
import { FieldLines, type FieldPath, type Kind } from "@istiod/config-schema";
import type { Finding } from "../finding.js";
import { type Message, messageOfFinding, type Reference } from "./message.js";

/**
 * The lines of fields in several files. A file is split when it is first asked for, and its documents parsed when a
 * field is.
 */
export class FileLines {
  readonly #lines = new Map<string, FieldLines>();

  /** @param texts the content of each file, by its name */
  constructor(private readonly texts: ReadonlyMap<string, string>) {}

  /** Returns the line of a field; the line of the object if the file is unknown. */
  lineOf(file: string, at: { readonly line: number; readonly path: FieldPath }, field: FieldPath): number {
    const text = this.texts.get(file);
    if (text === undefined) return at.line;
    let lines = this.#lines.get(file);
    if (lines === undefined) this.#lines.set(file, (lines = new FieldLines(text)));
    return lines.lineOf(at, field);
  }
}

/** Sources of the file positions of findings. */
export interface Places {
  readonly kinds: readonly Kind[];
  /** Ledgers of the files, one for each cluster. */
  readonly ledgers: readonly Pick<Ledger, "locate">[];
  readonly lines: FileLines;
  /** The place of a field of the mesh configuration or networks, by kind. */
  inMesh(kind: string, path: FieldPath): Reference | undefined;
}

/**
 * Returns the message of a finding with its place; none for an object that no file defines, because it was only
 * assumed.
 */
export function messageAt(finding: Finding, { kinds, ledgers, lines, inMesh }: Places): Message | undefined {
  const { origin, path } = finding;
  const kind = kinds.find(({ kind: name, group }) => name === origin.kind && group === origin.group);
  if (kind === undefined) return messageOfFinding(finding, inMesh(origin.kind, path));
  for (const ledger of ledgers) {
    const at = ledger.locate(kind, origin.key);
    if (at !== undefined) return messageOfFinding(finding, { file: at.file, line: lines.lineOf(at.file, at, path) });
  }
  return undefined;
}
