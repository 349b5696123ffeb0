import { createHash } from "node:crypto";
import type { ConfigObject } from "../config-object.js";
import { failClosed, isReadableName, isReadableNamespace } from "../decoding/fail-closed.js";
import { allKinds } from "../kinds/all-kinds.js";
import type { Kind } from "../kinds/kind.js";

/** A policy that a text defines and that cannot be decoded. */
export interface UnparsedPolicy {
  readonly kind: Kind;
  /** The object that applies instead if there is no good version. */
  readonly substitute: ConfigObject<unknown, unknown>;
  /** True if its name cannot be read. */
  readonly isUnnamed: boolean;
}

export interface UnparsedPolicyOptions {
  readonly cluster: string;
  readonly kinds: readonly Kind[];
  readonly revision: string;
}

/** Longest part of a line, in characters, that is searched. A line with a kind or a namespace is short. */
const maxLine = 4096;

/** Largest number of namespaces, and of policies, that are found in one text. */
const maxFound = 1024;

/** A key and its scalar value on a line, in block or JSON style. */
const field =
  /["']?\b(kind|namespace|name|action|outboundTrafficPolicy|istio\.io\/rev)["']?[ \t]*:[ \t]*["']?([^\s"',}\]#]*)/g;

const restrictingKinds = allKinds.filter(({ failClosed: rule }) => rule !== undefined);

/** Returns a name for an object whose name cannot be read. Equal texts yield equal names. */
export function unnamed(text: string): string {
  return `unnamed-${createHash("sha256").update(text).digest("hex").slice(0, 10)}`;
}

/**
 * Returns the policies of restricting kinds that a document which is not valid YAML appears to define. It errs towards
 * finding one: every mentioned namespace counts if the structure of the text cannot be told.
 */
export function unparsedPolicies(text: string, options: UnparsedPolicyOptions): readonly UnparsedPolicy[] {
  const scanner = new PolicyScanner(options);
  scanner.add(text);
  return scanner.end();
}

/** Finds the policies of a text that is given in parts. Memory is bounded, whatever the text. */
export class PolicyScanner {
  readonly #options: UnparsedPolicyOptions;
  readonly #found = new Map<string, UnparsedPolicy>();
  #document = new DocumentScan();
  /** Beginning of a line whose end was not given yet. */
  #line = "";

  constructor(options: UnparsedPolicyOptions) {
    this.#options = options;
  }

  /** Reads the next part of the text. */
  add(text: string): void {
    for (let at = 0; at < text.length;) {
      const newline = text.indexOf("\n", at);
      const end = newline < 0 ? text.length : newline;
      if (this.#line.length < maxLine) this.#line += text.slice(at, Math.min(end, at + maxLine));
      if (newline >= 0) this.#endLine();
      at = end + 1;
    }
  }

  /** Returns the policies found, after the end of the text. */
  end(): readonly UnparsedPolicy[] {
    this.#endLine();
    this.#endDocument();
    return [...this.#found.values()];
  }

  #endLine(): void {
    if (/^---(?:\s|$)/.test(this.#line)) this.#endDocument();
    this.#document.add(this.#line);
    this.#line = "";
  }

  #endDocument(): void {
    for (const policy of this.#document.policies(this.#options)) {
      if (this.#found.size >= maxFound) break;
      const { namespace, name } = policy.substitute;
      this.#found.set(`${policy.kind.kind}/${namespace}/${name}`, policy);
    }
    this.#document = new DocumentScan();
  }
}

/** The fields of one document that can be told without parsing it. */
class DocumentScan {
  readonly #kinds = new Set<string>();
  readonly #namespaces = new Set<string>();
  readonly #actions: string[] = [];
  readonly #revisions = new Set<string>();
  readonly #digest = createHash("sha256");
  /** Kind, name and namespace of the outermost object, where it is written as a block. */
  #topKind: string | undefined;
  #topName: string | undefined;
  #topNamespace: string | undefined;
  #isInMetadata = false;
  #hasOutboundPolicy = false;

  add(line: string): void {
    this.#digest.update(line);
    if (/^\s*(?:#|$)/.test(line)) return;
    if (/^[^\s{[-]/.test(line)) this.#isInMetadata = /^["']?metadata["']?\s*:/.test(line);
    for (const [, key, value = ""] of line.matchAll(field)) this.#read(key, value, line);
  }

  policies({ cluster, kinds, revision }: UnparsedPolicyOptions): readonly UnparsedPolicy[] {
    const found = restrictingKinds.filter((kind) => kinds.includes(kind) && this.#mayDefine(kind));
    if (found.length === 0) return [];
    if (revision !== "" && this.#revisions.size > 0 && !this.#revisions.has(revision)) return [];
    const name = found[0]?.kind === this.#topKind && isReadableName(this.#topName) ? this.#topName : "";
    const identity = { name: name || `unnamed-${this.#digest.copy().digest("hex").slice(0, 10)}`, cluster };
    return found.flatMap((kind) =>
      this.#likelyNamespaces()
        .filter(isReadableNamespace)
        .flatMap((namespace): readonly UnparsedPolicy[] => {
          const substitute = failClosed(kind, { ...identity, namespace }, undefined);
          return substitute === undefined ? [] : [{ kind, substitute, isUnnamed: name === "" }];
        }),
    );
  }

  /** Returns the namespace of the outermost object, else all that are mentioned, else `default`. */
  #likelyNamespaces(): readonly string[] {
    if (this.#namespaces.size === 0) return ["default"];
    const isSingle = this.#topKind !== undefined && !this.#topKind.endsWith("List");
    return isSingle && this.#topNamespace !== undefined ? [this.#topNamespace] : [...this.#namespaces];
  }

  #mayDefine({ kind }: Kind): boolean {
    if (!this.#kinds.has(kind)) return false;
    const top = this.#topKind;
    if (top !== undefined && top !== kind && !top.endsWith("List")) return false;
    if (kind === "Sidecar") return this.#hasOutboundPolicy;
    return !(kind === "AuthorizationPolicy" && this.#actions.length === 1 && this.#actions[0] === "AUDIT");
  }

  #read(key: string | undefined, value: string, line: string): void {
    if (key === "kind") {
      if (restrictingKinds.some(({ kind }) => kind === value)) this.#kinds.add(value);
      if (/^["']?kind/.test(line)) this.#topKind ??= value;
    } else if (key === "namespace") {
      if (this.#namespaces.size < maxFound && value !== "") this.#namespaces.add(value);
      if (this.#isInMetadata) this.#topNamespace ??= value;
    } else if (key === "name") {
      if (this.#isInMetadata) this.#topName ??= value;
    } else if (key === "action") {
      if (this.#actions.length < 2) this.#actions.push(value);
    } else if (key === "outboundTrafficPolicy") this.#hasOutboundPolicy = true;
    else if (this.#revisions.size < maxFound) this.#revisions.add(value);
  }
}
