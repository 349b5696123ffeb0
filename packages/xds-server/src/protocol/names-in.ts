/** What a name goes on with, so that `reviews` is not found in `outbound|80||reviews.shop`. */
const partOfName = /[\p{L}\p{N}_\-|*/.]/u;

/** Whether a client's message names a resource: as a whole, not as a part of another name. */
export function isNamedIn(message: string, name: string): boolean {
  if (name === "") return false;
  for (let at = message.indexOf(name); at >= 0; at = message.indexOf(name, at + 1)) {
    const end = at + name.length;
    if (!partOfName.test(message.charAt(at - 1)) && !goesOn(message, end)) return true;
  }
  return false;
}

/** A full stop with nothing of a name after it ends a sentence. */
function goesOn(message: string, at: number): boolean {
  return (
    partOfName.test(message.charAt(at)) && !(message.charAt(at) === "." && !partOfName.test(message.charAt(at + 1)))
  );
}
