import { type Functions, goFunction, refusedFunction, variadicFunction } from "../functions.js";
import { anyType, boolType, stringType } from "../values/known-types.js";
import { deepEqual } from "../values/deep-equal.js";
import { kindOf, typeOf } from "../values/type-of.js";
import type { Value } from "../values/values.js";
import { isEmptyValue } from "./casts.js";

/** Functions of defaults, types and control flow. */
export const defaultFunctions: Functions = {
  default: variadicFunction([anyType], anyType, anyType, (fallback, [given = null]) =>
    isEmptyValue(given) ? fallback : given,
  ),
  empty: goFunction([anyType], boolType, isEmptyValue),
  coalesce: variadicFunction([], anyType, anyType, (values) => values.find((value) => !isEmptyValue(value)) ?? null),
  all: variadicFunction([], anyType, boolType, (values) => values.every((value) => !isEmptyValue(value))),
  any: variadicFunction([], anyType, boolType, (values) => values.some((value) => !isEmptyValue(value))),
  ternary: goFunction([anyType, anyType, boolType], anyType, (yes, no, condition) => (condition ? yes : no)),
  fail: goFunction([stringType], stringType, (message) => {
    throw new Error(message);
  }),
  typeOf: goFunction([anyType], stringType, typeName),
  typeIs: goFunction([stringType, anyType], boolType, (name, value) => typeName(value) === name),
  typeIsLike: goFunction([stringType, anyType], boolType, (name, value) =>
    [name, `*${name}`].includes(typeName(value)),
  ),
  kindOf: goFunction([anyType], stringType, kindOf),
  kindIs: goFunction([stringType, anyType], boolType, (kind, value) => kindOf(value) === kind),
  deepEqual: goFunction([anyType, anyType], boolType, deepEqual),
};

function typeName(value: Value): string {
  return value === null ? "<nil>" : typeOf(value).name;
}

const random = "its result is random";
const environment = "templates cannot read the environment";
const key = "templates cannot generate keys and certificates";

const refusals: Readonly<Record<string, string>> = {
  env: environment,
  expandenv: environment,
  getHostByName: "templates cannot use the network",
  randAlpha: random,
  randAlphaNum: random,
  randAscii: random,
  randBytes: random,
  randInt: random,
  randNumeric: random,
  shuffle: random,
  uuidv4: random,
  bcrypt: random,
  htpasswd: random,
  encryptAES: random,
  decryptAES: "templates cannot hold keys",
  derivePassword: "templates cannot derive passwords",
  buildCustomCert: key,
  genCA: key,
  genCAWithKey: key,
  genPrivateKey: key,
  genSelfSignedCert: key,
  genSelfSignedCertWithKey: key,
  genSignedCert: key,
  genSignedCertWithKey: key,
};

/** Functions of sprig that fail with a reason. */
export const refusedFunctions: Functions = Object.fromEntries(
  Object.entries(refusals).map(([name, reason]) => [name, refusedFunction(name, reason)]),
);
