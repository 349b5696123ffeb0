import { StatusError } from "./status-error.js";

/** A form of answers that the parameters `as`, `g` and `v` of a media type ask for. */
export interface Form {
  readonly kind: string;
  readonly group: string;
  readonly version: string;
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

const jsonTypes = new Set(["application/json", "*/*"]);

/**
 * Returns the first accepted form that the server has, undefined for objects as they are. It has JSON only: protobuf
 * and tables are skipped.
 *
 * @param forms Forms that the endpoint supports.
 * @throws StatusError 406
 */
export function negotiate(header: string | undefined, forms: readonly Form[] = []): Form | undefined {
  if (header === undefined || header.trim() === "") return undefined;
  for (const { mediaType, parameters } of parseAccept(header)) {
    if (!jsonTypes.has(mediaType)) continue;
    const kind = parameters.get("as");
    if (kind === undefined) return undefined;
    const [group, version] = [parameters.get("g"), parameters.get("v")];
    const form = forms.find((each) => each.kind === kind && each.group === group && each.version === version);
    if (form !== undefined) return form;
  }
  throw new StatusError(406, "NotAcceptable", "only the following media types are accepted: application/json");
}
