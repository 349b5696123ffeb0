import type { CollectionTag, ScalarTag } from "yaml";
import { plainBoolean, plainNumber } from "./plain-scalars.js";

/*
 * Tags that a document spells out, such as `!!binary`, as Kubernetes' YAML reads them: the value is JSON, and a text
 * that is not of the tag's type is an error.
 */

type Report = (message: string) => void;

/** Returns a tag whose texts are read by a function that returns undefined for those of another type. */
function scalar(type: string, read: (text: string) => unknown): ScalarTag {
  return {
    tag: `tag:yaml.org,2002:${type}`,
    identify: () => false,
    resolve: (text: string, onError: Report) => {
      const value = read(text);
      if (value === undefined) onError(`a value is not of type !!${type}`);
      return value ?? null;
    },
  };
}

function collection(type: string, kind: "map" | "seq"): CollectionTag {
  return { tag: `tag:yaml.org,2002:${type}`, collection: kind, identify: () => false, resolve: (node) => node };
}

/** A fraction or a whole number, or a word for a number that JSON does not have. */
function float(text: string): number | undefined {
  const [, sign, word] = /^([-+]?)\.(inf|Inf|INF|nan|NaN|NAN)$/.exec(text) ?? [];
  if (word === undefined) return plainNumber(text);
  return /nan/i.test(word) ? Number.NaN : sign === "-" ? -Infinity : Infinity;
}

function bytes(text: string): string | undefined {
  const compact = text.replace(/[\r\n]/g, "");
  const isBase64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(compact);
  return isBase64 ? Buffer.from(compact, "base64").toString("utf8") : undefined;
}

function wholeNumber(text: string): number | undefined {
  return /[.eE]/.test(text) && !/^[-+]?0[xX]/.test(text) ? undefined : plainNumber(text);
}

/** Date, or date and time, in the forms of YAML 1.1 that `yaml.v2` reads. */
const date =
  /^(\d{4})-(\d{1,2})-(\d{1,2})(?:(?:[Tt]|[ \t]+)(\d{1,2}):(\d{1,2}):(\d{1,2})(?:\.\d+)?(?:Z|[-+]\d{2}:\d{2})?)?$/;

function time(text: string): string | undefined {
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = (date.exec(text) ?? [])
    .slice(1)
    .map((part) => Number(part ?? 0));
  const exists = month >= 1 && month <= 12 && day >= 1 && day <= new Date(Date.UTC(year, month, 0)).getUTCDate();
  return exists && hour < 24 && minute < 60 && second < 60 ? text : undefined;
}

export const explicitTags: readonly (ScalarTag | CollectionTag)[] = [
  scalar("int", wholeNumber),
  scalar("float", float),
  scalar("bool", plainBoolean),
  scalar("null", (text) => (["", "~", "null", "Null", "NULL"].includes(text) ? null : undefined)),
  scalar("binary", bytes),
  scalar("timestamp", time),
  scalar("merge", (text) => text),
  collection("set", "map"),
  collection("omap", "seq"),
  collection("pairs", "seq"),
];
