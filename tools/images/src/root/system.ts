import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { type DebianPackage, debianPackages, pathsOf } from "../downloads/debian-packages.js";
import type { Architecture, Lock } from "../lock.js";
import { addDebianFiles, LIBRARIES, type Selection } from "./debian-files.js";
import { addFile, addLink, type Tree } from "./tree.js";

/** Libraries of C and C++, which Node and Envoy need, and certificates. */
export const SYSTEM: Selection = {
  "base-files": [/^usr\/lib\/os-release$/, /^etc\/(os-release|debian_version)$/, /^usr\/share\/common-licenses\//],
  "ca-certificates": [],
  "gcc-12-base": [],
  libc6: [LIBRARIES],
  "libgcc-s1": [LIBRARIES],
  "libstdc++6": [LIBRARIES],
};

/** User and group that programs run as, unless the Pod says otherwise; Istio's images have the same number. */
export const USER = 1337;

export async function systemLayer(architecture: Architecture, lock: Lock) {
  const packages = await debianPackages(Object.keys(SYSTEM), architecture, lock);
  const tree: Tree = new Map();
  for (const name of ["bin", "sbin", "lib", "lib64"]) {
    addLink(tree, name, `usr/${name}`);
    tree.set(`usr/${name}`, { type: "folder", mode: 0o755 });
  }
  for (const name of ["dev", "proc", "run", "sys", "var", "etc"]) tree.set(name, { type: "folder", mode: 0o755 });
  for (const name of ["tmp", "var/tmp"]) tree.set(name, { type: "folder", mode: 0o1777 });
  addLink(tree, "var/run", "/run");
  addFile(tree, "etc/passwd", accounts(":/:/nonexistent"));
  addFile(tree, "etc/group", accounts(""));
  addFile(tree, "etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\n");
  await addDebianFiles(tree, packages, SYSTEM);
  const certificates = packages.find(({ name }) => name === "ca-certificates");
  if (certificates) addFile(tree, "etc/ssl/certs/ca-certificates.crt", await bundleOf(certificates));
  return { name: "libraries", tree, packages };
}

function accounts(rest: string): string {
  const ids = { root: 0, "istio-proxy": USER, nobody: 65534 };
  return Object.entries(ids)
    .map(([name, id]) => (rest === "" ? `${name}:x:${id}:\n` : `${name}:x:${id}:${id}:${rest}\n`))
    .join("");
}

/** Joins the certificates of a package, as its installation would by `update-ca-certificates`. */
async function bundleOf(certificates: DebianPackage): Promise<string> {
  const paths = (await pathsOf(certificates)).filter((path) => path.endsWith(".crt"));
  const texts = await Promise.all(paths.map((path) => readFile(join(certificates.files, path), "utf8")));
  return texts.map((text) => `${text.trimEnd()}\n`).join("");
}
