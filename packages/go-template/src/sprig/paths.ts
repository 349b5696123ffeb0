import { type Functions, goFunction } from "../functions.js";
import { boolType, stringType } from "../values/known-types.js";

const text = stringType;

/** Functions of paths with slashes. Those of the operating system are the same, as on Linux. */
export const pathFunctions: Functions = Object.fromEntries(
  Object.entries({
    base: goFunction([text], text, base),
    clean: goFunction([text], text, clean),
    dir: goFunction([text], text, (path) => clean(path.slice(0, path.lastIndexOf("/") + 1))),
    ext: goFunction([text], text, (path) => /\.[^./]*$/.exec(path)?.[0] ?? ""),
    isAbs: goFunction([text], boolType, (path) => path.startsWith("/")),
  }).flatMap(([name, declared]) => [
    [name, declared],
    [`os${name.charAt(0).toUpperCase()}${name.slice(1)}`, declared],
  ]),
);

function base(path: string): string {
  if (path === "") return ".";
  const name = path.replace(/\/+$/, "");
  return name === "" ? "/" : name.slice(name.lastIndexOf("/") + 1);
}

function clean(path: string): string {
  const isAbsolute = path.startsWith("/");
  const parts: string[] = [];
  for (const part of path.split("/")) {
    if (part === "" || part === ".") continue;
    if (part !== "..") parts.push(part);
    else if (parts.length > 0 && parts.at(-1) !== "..") parts.pop();
    else if (!isAbsolute) parts.push("..");
  }
  const joined = (isAbsolute ? "/" : "") + parts.join("/");
  return joined === "" ? "." : joined;
}
