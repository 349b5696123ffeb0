/** Reports whether an object has a member twice. The text must be valid JSON. Takes time in proportion to the text. */
export function hasDuplicateMember(text: string): boolean {
  /** Members of the open objects; undefined for arrays. */
  const open: (Set<string> | undefined)[] = [];
  for (let i = 0; i < text.length; i++) {
    const c = text[i];
    if (c === "{") open.push(new Set());
    else if (c === "[") open.push(undefined);
    else if (c === "}" || c === "]") open.pop();
    else if (c === '"') {
      const end = stringEnd(text, i);
      if (isFollowedByColon(text, end)) {
        const name = JSON.parse(text.slice(i, end)) as string;
        const members = open.at(-1);
        if (members?.has(name) === true) return true;
        members?.add(name);
      }
      i = end - 1;
    }
  }
  return false;
}

/** Returns the offset after the closing quote. */
function stringEnd(text: string, start: number): number {
  let i = start + 1;
  while (i < text.length && text[i] !== '"') i += text[i] === "\\" ? 2 : 1;
  return i + 1;
}

function isFollowedByColon(text: string, at: number): boolean {
  let i = at;
  while (i < text.length && (text[i] === " " || text[i] === "\n" || text[i] === "\r" || text[i] === "\t")) i++;
  return text[i] === ":";
}
