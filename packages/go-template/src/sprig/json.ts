import { type Functions, goFunction } from "../functions.js";
import type { GoFunction } from "../values/values.js";
import { anyType, stringType } from "../values/known-types.js";
import { decodeJson } from "./json-decode.js";
import { type EncodeOptions, encodeJson } from "./json-encode.js";
import { TemplateError } from "../error.js";

const escaped: EncodeOptions = { escapesHtml: true };
const pretty: EncodeOptions = { escapesHtml: true, indent: "  " };
const raw: EncodeOptions = { escapesHtml: false };

/** Functions of JSON. Without `must`, they return nothing where encoding fails, except `toRawJson`. */
export const jsonFunctions: Functions = {
  mustFromJson: goFunction([stringType], anyType, decodeJson),
  fromJson: goFunction([stringType], anyType, (text) => attempt(() => decodeJson(text), null)),
  mustToJson: encoder(escaped),
  toJson: silentEncoder(escaped),
  mustToPrettyJson: encoder(pretty),
  toPrettyJson: silentEncoder(pretty),
  mustToRawJson: encoder(raw),
  toRawJson: encoder(raw),
};

function encoder(options: EncodeOptions): GoFunction {
  return goFunction([anyType], stringType, (value) => encodeJson(value, options));
}

function silentEncoder(options: EncodeOptions): GoFunction {
  return goFunction([anyType], stringType, (value) => attempt(() => encodeJson(value, options), ""));
}

function attempt<T>(run: () => T, otherwise: T): T {
  try {
    return run();
  } catch (cause) {
    if (cause instanceof TemplateError || cause instanceof RangeError) throw cause;
    return otherwise;
  }
}
