import { CaError } from "../errors.js";

/** An element of the header `x-forwarded-client-cert`: the certificate of one client, as a proxy has verified it. */
export interface ForwardedElement {
  /** URIs among the certificate's subject alternative names; an empty one for a certificate without a URI. */
  readonly uris: readonly string[];
  readonly dnsNames: readonly string[];
  /** URIs of the proxy's own certificate. */
  readonly by: readonly string[];
}

/** Maximum length in characters. Certificates in the header have a few thousand. */
const maxLength = 64 * 1024;
/** Maximum number of proxies in a row. */
const maxElements = 16;
/** Maximum number of names of a certificate. */
const maxPairs = 256;

/** Keys of Envoy's documentation, which are not case-sensitive; true for those that an element may repeat. */
const keys: ReadonlyMap<string, boolean> = new Map([
  ["by", true],
  ["hash", false],
  ["cert", false],
  ["chain", false],
  ["subject", false],
  ["uri", true],
  ["dns", true],
]);

/**
 * Parses the header `x-forwarded-client-cert`: elements separated by commas, of pairs `key=value` separated by
 * semicolons. A value with one of `,;="` is in double quotes, with `\"` for a quote. Unknown keys, values without
 * quotes that need them, and quotes whose end is ambiguous are rejected: names of a certificate reach this header, and
 * must not be mistaken for other fields.
 *
 * Source: Envoy's documentation of the header.
 *
 * @throws CaError `malformed`, and no other error
 */
export function parseForwardedCertificates(header: string): readonly ForwardedElement[] {
  if (header.length > maxLength) throw malformed(`has ${header.length} characters, at most ${maxLength} are accepted`);
  const scanner = new Scanner(header);
  const elements: ForwardedElement[] = [];
  do {
    if (elements.length >= maxElements) throw malformed(`has more than ${maxElements} elements`);
    scanner.skipBlanks();
    elements.push(readElement(scanner));
    scanner.skipBlanks();
  } while (scanner.skip(","));
  if (!scanner.isAtEnd) throw malformed(`is malformed at character ${scanner.position + 1}`);
  return elements;
}

function readElement(scanner: Scanner): ForwardedElement {
  const values = new Map<string, string[]>();
  let pairs = 0;
  do {
    if (++pairs > maxPairs) throw malformed(`has an element of more than ${maxPairs} fields`);
    const key = scanner.read(/[A-Za-z]+/y)?.toLowerCase() ?? "";
    const isRepeatable = keys.get(key);
    if (isRepeatable === undefined || !scanner.skip("="))
      throw malformed(
        `is malformed at character ${scanner.position + 1}, expected one of By=, Hash=, Cert=, Chain=, Subject=, URI= and DNS=`,
      );
    const value = readValue(scanner);
    const known = values.get(key);
    if (known !== undefined && !isRepeatable) throw malformed(`has ${key} twice in one element`);
    if (known === undefined) values.set(key, [value]);
    else known.push(value);
  } while (scanner.skip(";"));
  return { uris: values.get("uri") ?? [], dnsNames: values.get("dns") ?? [], by: values.get("by") ?? [] };
}

/** Reads a value with or without quotes. */
function readValue(scanner: Scanner): string {
  if (!scanner.skip('"')) return scanner.read(/[\x21\x23-\x2b\x2d-\x3a\x3c\x3e-\x5b\x5d-\x7e]*/y) ?? "";
  const text = scanner.read(/(?:[^"\\\x00-\x1f\x7f]|\\[^\x00-\x1f\x7f])*/y) ?? "";
  if (!scanner.skip('"')) throw malformed("has a quote without its end");
  // Envoy escapes quotes of a subject but no backslashes, so that a quote after two of them can be either.
  if (/\\\\(?:"|$)/.test(text)) throw malformed("has a quote after backslashes, whose meaning is ambiguous");
  return text.replaceAll('\\"', '"');
}

/** Reads a text from its start. */
class Scanner {
  readonly #text: string;
  position = 0;

  constructor(text: string) {
    this.#text = text;
  }

  get isAtEnd(): boolean {
    return this.position === this.#text.length;
  }

  /** Skips a character. Returns false if another one is next. */
  skip(character: string): boolean {
    if (this.#text[this.position] !== character) return false;
    this.position++;
    return true;
  }

  skipBlanks(): void {
    while (this.skip(" ") || this.skip("\t"));
  }

  /** Reads what a sticky expression matches. */
  read(expression: RegExp): string | undefined {
    expression.lastIndex = this.position;
    const found = expression.exec(this.#text)?.[0];
    this.position += found?.length ?? 0;
    return found;
  }
}

function malformed(reason: string): CaError {
  return new CaError("malformed", `x-forwarded-client-cert ${reason}`);
}
