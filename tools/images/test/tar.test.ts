import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { writeTar } from "../src/oci/tar.js";
import { addFile, addLink, type Tree } from "../src/root/tree.js";

/** The listing of tar(1), without the date that all entries have. */
const listed = (archive: Buffer): readonly string[] =>
  execFileSync("tar", ["--utc", "--numeric-owner", "-tvf", "-"], { input: archive, encoding: "utf8" })
    .trimEnd()
    .split("\n")
    .map((line) => line.replace(/ +/g, " ").replace("1970-01-01 00:00 ", ""));

test("entries belong to root, have no time, and folders come first", () => {
  const tree: Tree = new Map();
  addFile(tree, "usr/bin/b", "program", 0o755);
  addLink(tree, "usr/bin/a", "b");
  addFile(tree, "etc/text", "line\n");
  tree.set("tmp", { type: "folder", mode: 0o1777 });
  expect(listed(writeTar(tree))).toEqual([
    "drwxr-xr-x 0/0 0 etc/",
    "-rw-r--r-- 0/0 5 etc/text",
    "drwxrwxrwt 0/0 0 tmp/",
    "drwxr-xr-x 0/0 0 usr/",
    "drwxr-xr-x 0/0 0 usr/bin/",
    "lrwxrwxrwx 0/0 0 usr/bin/a -> b",
    "-rwxr-xr-x 0/0 7 usr/bin/b",
  ]);
});

test("the order in which entries are added does not matter", () => {
  const [one, other]: Tree[] = [new Map(), new Map()];
  for (const path of ["b/c", "b-d", "a"]) addFile(one as Tree, path, path);
  for (const path of ["a", "b-d", "b/c"]) addFile(other as Tree, path, path);
  expect(writeTar(one as Tree).equals(writeTar(other as Tree))).toBe(true);
});

test("a path of more than 100 bytes is split, and one that cannot be is an error", () => {
  const long = `${"folder/".repeat(20)}file`;
  const tree: Tree = new Map();
  addFile(tree, long, "content");
  expect(listed(writeTar(tree)).at(-1)).toBe(`-rw-r--r-- 0/0 7 ${long}`);
  addFile(tree, "x".repeat(101), "");
  expect(() => writeTar(tree)).toThrow(`${"x".repeat(101)}: is too long for a tar archive`);
  const links: Tree = new Map();
  addLink(links, "link", "y".repeat(101));
  expect(() => writeTar(links)).toThrow("link: yyy");
});
