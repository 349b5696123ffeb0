import { StatusError } from "./status-error.js";

/** Representation of an answer. */
export interface Representation {
  /** Parameters of the accepted media type, for example `as`, `g` and `v`. */
  readonly parameters: ReadonlyMap<string, string>;
}

interface AcceptedType {
  readonly mediaType: string;
  readonly parameters: ReadonlyMap<string, string>;
  readonly quality: number;
}

function parseAccept(header: string): readonly AcceptedType[] {
  const clauses = header.split(",").map((clause) => {
    const [mediaType = "", ...parts] = clause.split(";").map((part) => part.trim());
    const parameters = new Map(parts.map((part) => part.split("=", 2) as [string, string]));
    return { mediaType: mediaType.toLowerCase(), parameters, quality: Number(parameters.get("q") ?? 1) };
  });
  return clauses
    .filter(({ mediaType, quality }) => mediaType !== "" && quality > 0)
    .sort((a, b) => b.quality - a.quality);
}

const jsonTypes = new Set(["application/json", "application/*", "*/*"]);

/**
 * Returns the first accepted representation that the server has. It has JSON only.
 *
 * @param kinds Values of the parameter `as` that the endpoint supports.
 * @throws StatusError 406
 */
export function negotiate(header: string | undefined, kinds: readonly string[] = []): Representation {
  if (header === undefined || header.trim() === "") return { parameters: new Map() };
  for (const { mediaType, parameters } of parseAccept(header)) {
    const kind = parameters.get("as");
    if (jsonTypes.has(mediaType) && (kind === undefined || kinds.includes(kind))) return { parameters };
  }
  throw new StatusError(406, "NotAcceptable", "only the following media types are accepted: application/json");
}
