import { ScalarType } from "@bufbuild/protobuf";
import { isTime } from "./time.js";

/*
 * Texts that stand for numbers, bytes, durations and times in the JSON of Istio's objects, as the decoder of the
 * original reads them: Go's `jsonpb`, which hands the text to `encoding/json` and `time`.
 */

const number = /^ *-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)? *$/;
const digits = /^ *-?(?:0|[1-9][0-9]*) *$/;
const notFinite: readonly unknown[] = ["NaN", "Infinity", "-Infinity"];
const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
/** Protobuf's own form of a duration, within the range of Go's. */
const plainDuration = /^-?[0-9]{1,9}(?:\.[0-9]{1,9})?s$/;

/** Reports whether a text is a duration that Go and protobuf read alike. */
export function isPlainDuration(text: unknown): boolean {
  return typeof text === "string" && plainDuration.test(text);
}

/** Reports whether a JSON value is a number as `encoding/json` reads it: a number, or the text of one. */
export function isGoNumber(json: unknown): boolean {
  return typeof json === "number" ? Number.isFinite(json) : typeof json === "string" && number.test(json);
}

/** Reports whether a JSON value is a number of type float or double, which may be infinite or none as a text. */
export function isGoFloat(json: unknown, type: ScalarType): boolean {
  if (notFinite.includes(json)) return true;
  if (!isGoNumber(json)) return false;
  return Number.isFinite(type === ScalarType.FLOAT ? Math.fround(Number(json)) : Number(json));
}

/** Reports whether a JSON value is a whole number in digits: texts have neither fraction, exponent nor sign `+`. */
export function isGoInteger(json: unknown): boolean {
  return typeof json === "number" ? Number.isInteger(json) : typeof json === "string" && digits.test(json);
}

/** Reports whether a text is base64 as `encoding/json` reads bytes: padded, in the standard alphabet, in any lines. */
export function isGoBytes(json: unknown): json is string {
  return typeof json === "string" && base64.test(json.replace(/[\r\n]/g, ""));
}

/** Reports whether Go and protobuf's reader read a scalar of a message alike, or reject it alike. */
export function scalarReadsAlike(type: ScalarType, json: unknown): boolean {
  switch (type) {
    case ScalarType.STRING:
    case ScalarType.BOOL:
      return true;
    case ScalarType.BYTES:
      return isGoBytes(json) && !/[\r\n]/.test(json);
    case ScalarType.DOUBLE:
    case ScalarType.FLOAT:
      return typeof json === "number" && isGoFloat(json, type);
    default:
      return typeof json === "number" || (typeof json === "string" && /^(?:0|-?[1-9][0-9]*)$/.test(json));
  }
}

/** Reports whether Go and protobuf's reader read a time alike. */
export function timeReadsAlike(json: unknown): boolean {
  return typeof json === "string" && isTime(json);
}
