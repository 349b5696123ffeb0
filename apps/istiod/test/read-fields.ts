import { readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { DescMessage } from "@bufbuild/protobuf";
import ts from "typescript";

const root = fileURLToPath(new URL("../../..", import.meta.url));
const generated = join(root, "packages/istio-api/gen/");

/** Returns the TypeScript files of a directory, or the file itself. */
export function sourceFiles(path: string): readonly string[] {
  if (path.endsWith(".ts")) return [join(root, path)];
  return readdirSync(join(root, path), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts") && !name.endsWith(".d.ts"))
    .map((name) => join(root, path, name));
}

/**
 * Returns the fields of messages, such as `istio.mesh.v1alpha1.MeshConfig.accessLogFile`, that code does not read, by
 * the type checker's symbols. A field is read if it is accessed by name, destructured, named by the
 * type of a key or by the case of a oneof, or part of a type that a message is passed or assigned as.
 */
export function unreadFields(messages: readonly DescMessage[], files: readonly string[]): readonly string[] {
  const program = ts.createProgram(files, {
    target: ts.ScriptTarget.ES2023,
    lib: ["lib.es2023.d.ts"],
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    customConditions: ["@istiod/source"],
    strict: true,
    noUncheckedIndexedAccess: true,
    exactOptionalPropertyTypes: true,
    skipLibCheck: true,
    noEmit: true,
    types: ["node"],
  });
  const reads = new FieldReads(program.getTypeChecker(), messages);
  const included = new Set(files);
  const sources = program.getSourceFiles().filter(({ fileName }) => included.has(fileName));
  for (const file of sources) reads.visit(file);
  for (const file of sources) reads.visitParts(file);
  return reads.unread();
}

class FieldReads {
  readonly #checker: ts.TypeChecker;
  readonly #unread: Set<string>;
  /** The number of unread fields of each name, so that the checker is asked about no other name. */
  readonly #names = new Map<string, number>();
  /** The names of the fields and oneofs of each message. */
  readonly #fieldsOf: ReadonlyMap<string, readonly string[]>;

  constructor(checker: ts.TypeChecker, messages: readonly DescMessage[]) {
    this.#checker = checker;
    this.#fieldsOf = new Map(
      messages.map(({ typeName, fields, oneofs }) => [
        typeName,
        [...fields.filter(({ oneof }) => oneof === undefined), ...oneofs].map(({ localName }) => localName),
      ]),
    );
    this.#unread = new Set(messages.flatMap(({ typeName, fields }) => fields.map((f) => `${typeName}.${f.localName}`)));
    for (const field of this.#unread) this.#names.set(lastName(field), (this.#names.get(lastName(field)) ?? 0) + 1);
  }

  unread(): readonly string[] {
    return [...this.#unread].sort();
  }

  visit(node: ts.Node): void {
    if (ts.isPropertyAccessExpression(node)) this.#addAccess(node);
    else if (ts.isBindingElement(node)) this.#addBinding(node);
    else if (ts.isElementAccessExpression(node)) this.#addKeys(node.expression, node.argumentExpression);
    else if (ts.isCaseClause(node)) this.#addCase(node.parent.parent.expression, node.expression);
    else if (ts.isStringLiteralLike(node)) this.#addName(node);
    else if (ts.isBinaryExpression(node)) {
      if (node.operatorToken.kind === ts.SyntaxKind.InKeyword) this.#addKeys(node.right, node.left);
      this.#addCase(node.left, node.right);
      this.#addCase(node.right, node.left);
    }
    ts.forEachChild(node, (child) => this.visit(child));
  }

  /** Visits values that are passed as another type. It costs more, and finds the fields that no name stands for. */
  visitParts(node: ts.Node): void {
    if (ts.isCallExpression(node)) for (const argument of node.arguments) this.#addParts(argument);
    else if (ts.isPropertyAssignment(node)) this.#addParts(node.initializer);
    else if (ts.isReturnStatement(node) && node.expression !== undefined) this.#addParts(node.expression);
    else if (ts.isArrowFunction(node) && !ts.isBlock(node.body)) this.#addParts(node.body);
    ts.forEachChild(node, (child) => this.visitParts(child));
  }

  #isSought(name: string): boolean {
    return (this.#names.get(name) ?? 0) > 0;
  }

  #read(field: string | undefined): void {
    if (field === undefined || !this.#unread.delete(field)) return;
    this.#names.set(lastName(field), (this.#names.get(lastName(field)) ?? 0) - 1);
  }

  #addAccess({ name }: ts.PropertyAccessExpression): void {
    if (this.#isSought(name.text)) this.#addSymbol(this.#checker.getSymbolAtLocation(name));
  }

  /** Adds the field of a destructured variable; its type may be a union, whose members have the same field. */
  #addBinding({ parent, propertyName, name, dotDotDotToken }: ts.BindingElement): void {
    const key = propertyName ?? name;
    if (!ts.isObjectBindingPattern(parent) || dotDotDotToken !== undefined) return;
    if ((ts.isIdentifier(key) || ts.isStringLiteral(key)) && this.#isSought(key.text))
      this.#addSymbol(this.#checker.getTypeAtLocation(parent).getProperty(key.text));
  }

  /** Adds the fields that an expression of literal type names, unless it may name any field of the message. */
  #addKeys(object: ts.Expression, key: ts.Expression): void {
    const type = this.#checker.getTypeAtLocation(key);
    const names = literalsOf(this.#checker.getBaseConstraintOfType(type) ?? type);
    if (this.#messagesWith(names).length > 0) return;
    for (const name of names)
      if (this.#isSought(name)) this.#addSymbol(this.#checker.getTypeAtLocation(object).getProperty(name));
  }

  /** Adds the field that a literal names where any field of a message could be named. */
  #addName(literal: ts.StringLiteralLike): void {
    if (!this.#isSought(literal.text)) return;
    const contextual = this.#checker.getContextualType(literal);
    if (contextual === undefined) return;
    const names = literalsOf(this.#checker.getBaseConstraintOfType(contextual) ?? contextual);
    for (const message of this.#messagesWith(names)) this.#read(`${message}.${literal.text}`);
  }

  /** Returns the messages of which names contain all fields. */
  #messagesWith(names: ReadonlySet<string>): readonly string[] {
    if (names.size < leastFields) return [];
    return [...this.#fieldsOf].flatMap(([message, fields]) => (fields.every((f) => names.has(f)) ? [message] : []));
  }

  /** Adds the field of a oneof, if an expression is the oneof's `case`. */
  #addCase(oneof: ts.Expression, name: ts.Expression): void {
    if (!ts.isStringLiteralLike(name) || !this.#isSought(name.text)) return;
    const symbol = this.#checker.getSymbolAtLocation(ts.isPropertyAccessExpression(oneof) ? oneof.name : oneof);
    for (const declaration of this.#originsOf(symbol)) this.#read(caseOf(declaration, name.text));
  }

  /** Returns the declarations of a property, also of one that a variable was destructured from. */
  #originsOf(symbol: ts.Symbol | undefined): readonly ts.Declaration[] {
    return (symbol?.declarations ?? []).flatMap((declaration) => {
      if (!ts.isBindingElement(declaration) || !ts.isObjectBindingPattern(declaration.parent)) return [declaration];
      const key = declaration.propertyName ?? declaration.name;
      if (!ts.isIdentifier(key)) return [];
      return this.#checker.getTypeAtLocation(declaration.parent).getProperty(key.text)?.declarations ?? [];
    });
  }

  /** Adds the fields of a message that the type has as which the message is passed. */
  #addParts(value: ts.Expression): void {
    if (ts.isStringLiteralLike(value) || ts.isArrowFunction(value) || ts.isObjectLiteralExpression(value)) return;
    const contextual = this.#checker.getContextualType(value);
    if (contextual === undefined) return;
    for (const target of constituents(contextual)) {
      if ((target.flags & ts.TypeFlags.Object) === 0) continue;
      for (const property of target.getProperties()) {
        if (!this.#isSought(property.name) || property.declarations?.some((d) => fieldOf(d) !== undefined)) continue;
        for (const source of constituents(this.#checker.getTypeAtLocation(value)))
          this.#addSymbol(source.getProperty(property.name));
      }
    }
  }

  #addSymbol(symbol: ts.Symbol | undefined): void {
    for (const declaration of symbol?.declarations ?? []) this.#read(fieldOf(declaration));
  }
}

function lastName(field: string): string {
  return field.slice(field.lastIndexOf(".") + 1);
}

/** Fewer names than this are a choice of fields, not all of a message. */
const leastFields = 8;

function literalsOf(type: ts.Type): ReadonlySet<string> {
  return new Set(constituents(type).flatMap((each) => (each.isStringLiteral() ? [each.value] : [])));
}

function constituents(type: ts.Type): readonly ts.Type[] {
  return type.isUnion() ? type.types : [type];
}

/** Returns the full name of a field that is declared in generated code; undefined for any other declaration. */
function fieldOf(declaration: ts.Declaration): string | undefined {
  if (!ts.isPropertySignature(declaration) || !ts.isIdentifier(declaration.name)) return undefined;
  const message = messageOf(declaration.parent);
  return message === undefined ? undefined : `${message}.${declaration.name.text}`;
}

/** Returns the field that a declaration of a oneof's `case` stands for, if that is its name. */
function caseOf(declaration: ts.Declaration, name: string): string | undefined {
  if (!ts.isPropertySignature(declaration) || declaration.type === undefined) return undefined;
  if (!ts.isLiteralTypeNode(declaration.type) || !ts.isStringLiteral(declaration.type.literal)) return undefined;
  if (declaration.type.literal.text !== name) return undefined;
  let node: ts.Node = declaration;
  while (!ts.isTypeAliasDeclaration(node) && !ts.isSourceFile(node)) node = node.parent;
  const message = ts.isTypeAliasDeclaration(node) ? messageName(node) : undefined;
  return message === undefined ? undefined : `${message}.${name}`;
}

/** Returns the full name of the message that a type literal declares the fields of. */
function messageOf(literal: ts.Node): string | undefined {
  const intersection = literal.parent;
  const alias = intersection.parent;
  if (!ts.isIntersectionTypeNode(intersection) || !ts.isTypeAliasDeclaration(alias)) return undefined;
  return messageName(alias);
}

function messageName(alias: ts.TypeAliasDeclaration): string | undefined {
  if (!alias.getSourceFile().fileName.startsWith(generated)) return undefined;
  return /Message<"([\w.]+)">/.exec(alias.type.getText())?.[1];
}
