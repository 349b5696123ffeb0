import { Scalar, visit, type Document } from "yaml";

const stringTag = "tag:yaml.org,2002:str";

/** Reports whether a text may end within a block scalar, without a line break. Other matches cost time only. */
export function mayEndInBlock(text: string): boolean {
  return /[^\r\n]$/.test(text) && /[|>][-+1-9]{0,2}[ \t]*(?:#.*)?$/m.test(text);
}

/**
 * Removes the line break that YAML 1.2 adds to a block scalar whose last line ends with the text. Kubernetes' YAML
 * reader adds none, so that the object that `kubectl` writes has none.
 */
export function removeAddedLineBreak(document: Document, text: string): void {
  if (!mayEndInBlock(text)) return;
  visit(document, {
    Scalar(_, node) {
      const isBlock = node.type === Scalar.BLOCK_LITERAL || node.type === Scalar.BLOCK_FOLDED;
      // The text of binary data is decoded already.
      if (typeof node.value !== "string" || (node.tag ?? stringTag) !== stringTag) return;
      if (isBlock && node.range?.[1] === text.length) node.value = node.value.replace(/\n$/, "");
    },
  });
}
