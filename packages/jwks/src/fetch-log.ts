import type { KeySetState } from "./key-sets.js";
import { describeSource, type KeySetSource } from "./source.js";

/** The log of fetches, as pino's loggers have it. */
export interface KeySetLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

/** A kind of documents as log lines name it. */
export interface FetchedDocuments {
  /** Name of one document. */
  readonly name: string;
  /** Field of log lines with the source of a document. */
  readonly field: string;
  /** Consequence of a failed fetch, without and with a former document. */
  readonly missing: string;
  readonly kept: string;
}

/** The keys of tokens. */
export const tokenKeySets: FetchedDocuments = {
  name: "JWKS",
  field: "jwks",
  missing: "its tokens are rejected",
  kept: "keeping the last keys",
};

/** SPIFFE bundles, whose roots agents are sent. */
export const spiffeBundleDocuments: FetchedDocuments = {
  name: "SPIFFE bundle",
  field: "endpoint",
  missing: "agents are not sent its roots",
  kept: "keeping the last good one",
};

/** Logs failures once, until the reason changes, and the first success after them. */
export function logFetch(
  log: KeySetLog,
  { name, field, missing, kept }: FetchedDocuments,
  source: KeySetSource,
  before: KeySetState | undefined,
  state: KeySetState,
): void {
  const fields = { [field]: describeSource(source) };
  if (state.failure !== undefined) {
    const consequence = state.keys === undefined ? missing : kept;
    if (state.failure !== before?.failure)
      log.warn({ ...fields, reason: state.failure }, `failed to fetch ${name}, ${consequence}`);
  } else if (before?.failure !== undefined) log.info(fields, `fetched ${name} after failures`);
  else if (before?.keys !== undefined && before.keys !== state.keys) log.info(fields, `updated ${name}`);
}
