import { reasonOf } from "@istiod/runtime";
import { type Functions, goFunction } from "../functions.js";
import { anyMapType, stringType } from "../values/known-types.js";
import { quote } from "../values/quote.js";
import { typeOf } from "../values/type-of.js";
import { GoMap } from "../values/values.js";
import { nilDereference } from "./casts.js";
import { formatUrl, parseUrl, type Url } from "./url.js";

const parts = ["scheme", "host", "path", "query", "opaque", "fragment", "userinfo"] as const;

/** Functions of URLs. */
export const urlFunctions: Functions = {
  urlParse: goFunction([stringType], anyMapType, (text) => {
    const url = attempt(text, "unable to parse url: ");
    return new GoMap(anyMapType, [...parts.map((part) => [part, url[part]] as const), ["hostname", url.hostname]]);
  }),
  urlJoin: goFunction([anyMapType], stringType, (map) => {
    const read = Object.fromEntries(parts.map((part) => [part, partOf(map, part)])) as Record<
      (typeof parts)[number],
      string
    >;
    const userinfo =
      read.userinfo === ""
        ? ""
        : attempt(`proto://${read.userinfo}@host`, "unable to parse userinfo in dict: ").userinfo;
    return formatUrl({ ...read, userinfo });
  }),
};

function attempt(text: string, prefix: string): Url {
  try {
    return parseUrl(text);
  } catch (cause) {
    throw new Error(`${prefix}parse ${quote(text)}: ${reasonOf(cause)}`, {
      cause,
    });
  }
}

function partOf({ entries }: GoMap, part: string): string {
  const value = entries.get(part);
  if (value === undefined) return "";
  if (typeof value === "string") return value;
  if (value === null) throw new Error(nilDereference);
  throw new Error(`unable to parse ${part} key, must be of type string, but ${typeOf(value).kind} found`);
}
