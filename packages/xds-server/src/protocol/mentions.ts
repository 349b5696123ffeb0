/** Characters of resource names, so that `reviews` is not found in `outbound|80||reviews.shop`. */
const nameCharacter = /[\p{L}\p{N}_\-|*/.]/u;

/** Reports whether a message mentions a resource by its whole name, and not as part of another name. */
export function mentionsName(message: string, name: string): boolean {
  if (name === "") return false;
  for (let at = message.indexOf(name); at >= 0; at = message.indexOf(name, at + 1)) {
    if (!nameCharacter.test(message.charAt(at - 1)) && !nameContinues(message, at + name.length)) return true;
  }
  return false;
}

/** Reports whether a name continues here. A full stop that no name character follows ends a sentence. */
function nameContinues(message: string, at: number): boolean {
  const character = message.charAt(at);
  return nameCharacter.test(character) && !(character === "." && !nameCharacter.test(message.charAt(at + 1)));
}
