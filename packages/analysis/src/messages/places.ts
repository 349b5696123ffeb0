import { type Ledger } from "@istiod/config-ingestion";
import { FieldLines, type FieldPath, type Kind } from "@istiod/config-schema";
import type { Finding } from "../finding.js";
import { type Message, messageOfFinding, type Reference } from "./message.js";

/**
 * Line numbers of fields in several files. A file is split into documents on its first use, and a document is parsed on
 * its first use.
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

/** Sources of the locations of findings. */
export interface Places {
  readonly kinds: readonly Kind[];
  /** Ledgers of the files, one for each cluster. */
  readonly ledgers: readonly Pick<Ledger, "locate">[];
  readonly lines: FileLines;
  /** Returns the location of a field of the mesh configuration or mesh networks, by kind. */
  inMesh(kind: string, path: FieldPath): Reference | undefined;
}

/**
 * Returns the message of a finding with its location; undefined for an object that no file defines, such as the assumed
 * ingress gateway.
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
