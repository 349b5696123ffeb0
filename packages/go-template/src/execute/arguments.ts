import { canBeNil, type GoType, isIntegerKind, isSignedKind } from "../values/types.js";
import { nodeText, type Expression } from "../parse/nodes.js";
import { Interface, type Operand, operandType, zeroOf } from "../values/operand.js";
import { isFunction, typeOf } from "../values/type-of.js";
import { GoInteger, GoPointer } from "../values/values.js";

/**
 * Returns an operand as an argument of a type.
 *
 * @throws Error if it cannot be assigned
 */
export function assign(operand: Operand, type: GoType): Operand {
  if (type.kind === "any value") return operand;
  if (operand === undefined) {
    if (canBeNil(type)) return zeroOf(type);
    throw new Error(`invalid value; expected ${type.name}`);
  }
  if (type.kind === "interface") return operand;
  const value = operand instanceof Interface ? operand.value : operand;
  if (value === null) throw new Error(`wrong type for value; expected ${type.name}; got ${operandType(operand).name}`);
  const actual = typeOf(value);
  if (actual.name === type.name || (isFunction(value) && type.kind === "func")) return value;
  if (value instanceof GoPointer && actual.name === `*${type.name}`) {
    if (value.target !== null) return value.target;
    throw new Error(`dereference of nil pointer of type ${type.name}`);
  }
  throw new Error(`wrong type for value; expected ${type.name}; got ${actual.name}`);
}

/**
 * Returns a constant as an argument of a type.
 *
 * @throws Error if it does not fit
 */
export function assignConstant(node: Expression, type: GoType): Operand {
  if (type.kind === "interface" || type.kind === "any value") return constantValue(node);
  if (type.kind === "bool") {
    if (node.kind === "bool") return node.value;
    throw new Error(`expected bool; found ${nodeText(node)}`);
  }
  if (type.kind === "string") {
    if (node.kind === "string") return node.value;
    throw new Error(`expected string; found ${nodeText(node)}`);
  }
  if (type.kind === "float64") {
    if (node.kind === "number" && node.constant.float !== undefined) return node.constant.float;
    throw new Error(`expected float; found ${nodeText(node)}`);
  }
  if (isIntegerKind(type.kind)) {
    const isSigned = isSignedKind(type.kind);
    const integer = node.kind === "number" ? node.constant[isSigned ? "signed" : "unsigned"] : undefined;
    if (integer === undefined)
      throw new Error(`expected ${isSigned ? "integer" : "unsigned integer"}; found ${nodeText(node)}`);
    return type.kind === "int" ? integer : new GoInteger(type.kind, integer);
  }
  throw new Error(`can't handle ${nodeText(node)} for arg of type ${type.name}`);
}

/**
 * Returns the value of a constant where no type is expected: the syntax of a number decides its type.
 *
 * @throws Error if an integer is too large for an `int`
 */
export function constantValue(node: Expression): Operand {
  switch (node.kind) {
    case "bool":
    case "string":
      return node.value;
    case "number": {
      const { constant, text } = node;
      const isHexadecimal = /^0[xX]/.test(text) && !/[pP]/.test(text);
      if (constant.float !== undefined && !isHexadecimal && !text.startsWith("'") && /[.eEpP]/.test(text))
        return constant.float;
      if (constant.signed !== undefined) return constant.signed;
      if (constant.unsigned !== undefined) throw new Error(`${text} overflows int`);
      return undefined;
    }
    default:
      throw new Error(`can't handle assignment of ${nodeText(node)} to empty interface argument`);
  }
}
