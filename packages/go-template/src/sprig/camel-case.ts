import { isUnicodeSpace, toLower, toUpper } from "../values/strings.js";

const isConnector = (character: string): boolean => character === "-" || character === "_" || isUnicodeSpace(character);
const isUpper = (character: string): boolean => /^\p{Lu}$/u.test(character);
const isNumber = (character: string): boolean => /^\p{N}$/u.test(character);
const isPunctuation = (character: string): boolean => /^\p{P}$/u.test(character);

/** Letters except the ideographs of Chinese, Japanese and Korean. */
function isAlphabetic(character: string): boolean {
  if (!/^\p{L}$/u.test(character)) return false;
  const code = character.codePointAt(0) ?? 0;
  const isIdeograph =
    (code >= 0x4e00 && code <= 0x9fcc) || (code >= 0x3400 && code <= 0x4d85) || (code >= 0x20000 && code <= 0x2b81d);
  return !isIdeograph;
}

/** Returns a name in `PascalCase`, as xstrings does: connectors between words are removed. */
export function toPascal(value: string): string {
  const characters = [...value];
  const first = characters.findIndex((character) => !isConnector(character));
  if (first < 0 || characters.length === 0) return value;
  let output = characters.slice(0, first).join("");
  let startsUpper = isUpper(characters[first] ?? "");
  let current = toUpper(characters[first] ?? "");
  for (const next of characters.slice(first + 1)) {
    const previous = current;
    current = next;
    if (isConnector(current) && isConnector(previous)) {
      output += previous;
    } else if (isConnector(previous)) {
      startsUpper = isUpper(current);
      current = toUpper(current);
    } else {
      if (startsUpper && isUpper(current)) current = toLower(current);
      else startsUpper = false;
      output += previous;
    }
  }
  return output + current;
}

type WordKind = "number" | "upper" | "alphabet" | "connector" | "punctuation" | "other";
interface Word {
  readonly kind: WordKind;
  readonly text: string;
}

/** Returns a name in lower case, with a connector between its words, as xstrings does. */
export function camelToLower(value: string, connector: string): string {
  const words = wordsOf(value);
  let output = "";
  let i = 0;
  const kindAt = (index: number): WordKind | undefined => words[index]?.kind;
  const write = (word: Word | undefined): void => {
    if (word !== undefined) output += lowered(word, connector);
  };
  const writeRun = (): void => {
    for (; kindAt(i) === "alphabet" || kindAt(i) === "number"; i++) write(words[i]);
  };
  const connect = (): void => {
    const kind = kindAt(i);
    if (kind !== undefined && kind !== "punctuation" && kind !== "connector") output += connector;
  };
  while (i < words.length - 1) {
    const word = words[i];
    const kind = word?.kind;
    if (kind !== "connector") write(word);
    i++;
    if (kind === "number") {
      writeRun();
      connect();
    } else if (kind === "connector") {
      write(word);
    } else if (kind !== "punctuation") {
      if (kindAt(i) !== "number") {
        connect();
        continue;
      }
      if (i === words.length - 1) break;
      const number = words[i];
      i++;
      if (kindAt(i) !== "alphabet") {
        write(number);
        connect();
        continue;
      }
      output += connector;
      write(number);
      writeRun();
      connect();
    }
  }
  write(words[i]);
  return output;
}

function lowered({ kind, text }: Word, connector: string): string {
  if (kind !== "upper" && kind !== "connector") return text;
  return Array.from(text, (character) =>
    isConnector(character) ? connector : isUpper(character) ? toLower(character) : character,
  ).join("");
}

function wordsOf(value: string): readonly Word[] {
  const characters = [...value];
  const words: Word[] = [];
  for (let start = 0; start < characters.length;) {
    const { kind, end } = wordAt(characters, start);
    words.push({ kind, text: characters.slice(start, end).join("") });
    start = end;
  }
  return words;
}

function wordAt(characters: readonly string[], start: number): { readonly kind: WordKind; readonly end: number } {
  const run = (from: number, matches: (character: string) => boolean): number => {
    let end = from;
    while (end < characters.length && matches(characters[end] ?? "")) end++;
    return end;
  };
  const isLower = (character: string): boolean => isAlphabetic(character) && !isUpper(character);
  const first = characters[start] ?? "";
  if (isConnector(first)) return { kind: "connector", end: run(start + 1, isConnector) };
  if (isPunctuation(first)) return { kind: "punctuation", end: run(start + 1, isPunctuation) };
  if (isUpper(first)) {
    const end = run(start + 1, isUpper);
    if (end === start + 1) return { kind: "upper", end: run(end, isLower) };
    return { kind: "upper", end: end < characters.length && isAlphabetic(characters[end] ?? "") ? end - 1 : end };
  }
  if (isAlphabetic(first)) return { kind: "alphabet", end: run(start + 1, isLower) };
  if (isNumber(first)) return { kind: "number", end: run(start + 1, isNumber) };
  const isOther = (character: string): boolean =>
    !isConnector(character) && !isAlphabetic(character) && !isNumber(character) && !isPunctuation(character);
  return { kind: "other", end: run(start + 1, isOther) };
}
