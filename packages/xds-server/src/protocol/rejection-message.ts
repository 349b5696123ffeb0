import { sliceNames, type Sliced } from "../sliced.js";
import { mentionsName } from "./mentions.js";

/** The resources that an error message of a client is about. */
export interface Verdict {
  /** Resources that the message certainly names as invalid, with the reason for each. */
  readonly invalid: ReadonlyMap<string, string>;
  /** Set if it lists the invalid resources: the client applied the others. */
  readonly isList?: true;
  /** Resources that it mentions, if it is not certain about any. They may be innocent. */
  readonly mentioned: readonly string[];
}

/** Length from which a message may be cut, in bytes. */
const cutBytes = 4090;

/** Reports whether the end of a message may be missing: Envoy and the server cut long ones. */
export function isCut(message: string): boolean {
  return Buffer.byteLength(message) >= cutBytes || message.endsWith("(truncated)");
}

/** Precedes the text format of a message in the errors of Envoy. */
const dumpMark = /goo\.gle\/debug\S*\s/;
/** A dump at the beginning of a message is of the resource that is invalid. */
const dumpedName = /^goo\.gle\/debug\S*\s+name: "((?:[^"\\]|\\.)*)"/;

/**
 * Finds the resources that an error message is about. Envoy lists `<name>: <reason>` of each invalid cluster or
 * listener, separated by `, ` or by line ends, or begins with a dump of one invalid resource. Other messages may
 * mention resources that are not to blame, such as a listener that has the address already.
 *
 * @param names resources of the rejected response
 */
export function* readMessage(message: string, names: Iterable<string>): Sliced<Verdict> {
  const mentioned: string[] = [];
  let handled = 0;
  for (const name of names) {
    if (++handled % sliceNames === 0) yield 0;
    if (mentionsName(message, name)) mentioned.push(name);
  }
  const invalid = listedIn(message, mentioned);
  if (invalid.size > 0) return { invalid, mentioned: [], isList: true };
  const dumped = dumpedName.exec(message)?.[1];
  if (dumped !== undefined && mentioned.includes(dumped))
    return { invalid: new Map([[dumped, reasonIn(message)]]), mentioned: [] };
  return { invalid, mentioned };
}

/** Returns the reason of a message without dumps of resources: the text after a dump, or else the text before it. */
export function reasonIn(message: string): string {
  const mark = dumpMark.exec(message);
  if (mark === null) return message.trim();
  const after = message.lastIndexOf("\n: ");
  const reason = after > mark.index ? message.slice(after + 3) : message.slice(0, mark.index).replace(/:?\s*$/, "");
  return reason.trim() === "" ? "invalid resource" : reason.trim();
}

interface Entry {
  readonly name: string;
  readonly from: number;
  readonly to: number;
}

/** Returns the reasons of a list of `<name>: <reason>`. */
function listedIn(message: string, names: readonly string[]): Map<string, string> {
  const candidates = names.flatMap((name) => [...occurrences(message, name)]).sort((a, b) => a.from - b.from);
  const entries: Entry[] = [];
  for (const entry of candidates)
    if (entries.length === 0 ? beginsList(message, entry.from) : continuesList(message, entry.from))
      entries.push(entry);
  const reasons = new Map<string, string>();
  for (const [index, { name, to }] of entries.entries()) {
    const reason = message.slice(to, entries[index + 1]?.from).replace(/[,\s]+$/, "");
    if (!reasons.has(name)) reasons.set(name, reasonIn(reason));
  }
  return reasons;
}

/** Yields where a name is followed by a colon and a space. */
function* occurrences(message: string, name: string): Generator<Entry> {
  const text = `${name}: `;
  for (let from = message.indexOf(text); from >= 0; from = message.indexOf(text, from + 1))
    yield { name, from, to: from + text.length };
}

/** Reports whether the first entry may begin here: at the start of the message, or after words without punctuation. */
function beginsList(message: string, at: number): boolean {
  return /^(?:[\w/()]+ )*$/.test(message.slice(0, at));
}

function continuesList(message: string, at: number): boolean {
  const before = message.slice(Math.max(0, at - 2), at);
  return before === ", " || before.endsWith("\n");
}
