import { createHash } from "node:crypto";
import { documentsOf, moveReading, readInSlices, type Reading, type ReadOptions } from "@istiod/config-schema";

/** A document of a file, as it was read. */
export interface DocumentRecord {
  readonly digest: string;
  readonly line: number;
  readonly reading: Reading;
}

/** A file with more documents, or items of Lists, than allowed. */
export class TooManyDocumentsError extends Error {
  constructor(maxDocuments: number) {
    super(`has more than ${maxDocuments} documents and items of Lists (--maxConfigFileDocuments)`);
    this.name = "TooManyDocumentsError";
  }
}

/**
 * Reads the documents of a file one by one. Those with the text of a previous document are not parsed again. Between
 * the slices of a long List, yields the number of items that were read.
 */
export function* readDocuments(
  file: string,
  text: string,
  previous: readonly DocumentRecord[],
  options: ReadOptions,
): Generator<DocumentRecord | number> {
  const known = new Map(previous.map((document) => [document.digest, document]));
  for (const document of documentsOf(text)) {
    const digest = createHash("sha1").update(document.text).digest("base64");
    const unchanged = known.get(digest);
    const reading =
      unchanged === undefined
        ? yield* readInSlices(document, file, options)
        : moveReading(unchanged.reading, document.line - unchanged.line);
    yield { digest, line: document.line, reading };
  }
}
