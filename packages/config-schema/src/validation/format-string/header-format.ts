import { formatStringFault } from "./format-string.js";

/** Metadata with a list as argument, `%DYNAMIC_METADATA(["a", "b"])%`. */
const metadataList = /%(UPSTREAM|DYNAMIC)_METADATA\([ \t\n\v\f\r]*(\[(?:[^\n\r]|\r?\n)+?\][ \t\n\v\f\r]*)\)%/;

/** Filter state under its former name, `%PER_REQUEST_STATE(key)%`. */
const requestState = /%PER_REQUEST_STATE\(([^\n\r]+?)\)%/;

/**
 * Returns the reason why Envoy 1.40 would reject the format of a header's value; undefined if it accepts it. Headers
 * may have two earlier forms of variables. Source: Envoy's `source/common/router/header_parser_utils.cc`.
 */
export function headerFormatFault(value: string): string | undefined {
  if (!value.includes("%")) return undefined;
  return formatStringFault(withFilterState(withMetadataPaths(value)));
}

function withMetadataPaths(value: string): string {
  let text = value;
  for (let match = metadataList.exec(text); match !== null; match = metadataList.exec(text)) {
    const [whole, source = "", list = ""] = match;
    const path = stringsOf(list);
    if (path === undefined) return text;
    text = text.replace(whole, () => `%${source}_METADATA(${path.join(":")})%`);
  }
  return text;
}

function withFilterState(value: string): string {
  let text = value;
  for (let match = requestState.exec(text); match !== null; match = requestState.exec(text)) {
    const [whole, key = ""] = match;
    text = text.replace(whole, () => `%FILTER_STATE(${key}:PLAIN)%`);
  }
  return text;
}

function stringsOf(json: string): readonly string[] | undefined {
  try {
    const list: unknown = JSON.parse(json);
    return Array.isArray(list) && list.length > 0 && list.every((item) => typeof item === "string") ? list : undefined;
  } catch {
    return undefined;
  }
}
