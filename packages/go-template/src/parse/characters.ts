/** Reports whether a character separates words in actions. */
export const isSpace = (character: string): boolean =>
  character === " " || character === "\t" || character === "\r" || character === "\n";

/** Reports whether a character belongs to a name. */
export const isAlphanumeric = (character: string): boolean => /^[_\p{L}\p{Nd}]$/u.test(character);

/** Reports whether the marker that trims the text before an action is at a position. */
export const hasLeftTrimMarker = (text: string, position: number): boolean =>
  text.charAt(position) === "-" && isSpace(text.charAt(position + 1));

/** Reports whether the marker that trims the text after an action is at a position. */
export const hasRightTrimMarker = (text: string, position: number): boolean =>
  text.charAt(position + 1) === "-" && isSpace(text.charAt(position));

/** Returns the end of a text without the spaces at its end. */
export function trimmedEnd(text: string, start: number, end: number): number {
  while (end > start && isSpace(text.charAt(end - 1))) end--;
  return end;
}

/** Returns the position after spaces. */
export function skipSpaces(text: string, position: number): number {
  while (isSpace(text.charAt(position))) position++;
  return position;
}

/** Returns a character as Go's `%#U` prints it. */
export function describeCharacter(character: string): string {
  const code = character.codePointAt(0);
  if (code === undefined) return "U+FFFFFFFFFFFFFFFF";
  const number = `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
  return /^[ \p{L}\p{M}\p{N}\p{P}\p{S}]$/u.test(character) ? `${number} '${character}'` : number;
}
