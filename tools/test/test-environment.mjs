// Prints everything outside the repository that tests find out for themselves, as an input of Nx's cached `test` targets.
import { createHash } from "node:crypto";
import { existsSync, readFileSync, readdirSync, statSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

console.log(`node ${process.version}, uid ${process.getuid?.()}`);
console.log(`shared ${hashOfFiles(join(root, "../shared"))}`);
for (const program of programs()) console.log(program);

/** Hash of the names and contents of all files below a directory; `absent` without one. */
function hashOfFiles(directory) {
  if (!existsSync(directory)) return "absent";
  const hash = createHash("sha256");
  for (const name of readdirSync(directory, { recursive: true }).sort()) {
    const path = join(directory, name);
    if (statSync(path).isFile()) hash.update(`${name}\0`).update(readFileSync(path));
  }
  return hash.digest("hex");
}

/** The programs whose absence skips tests: path, size and time of modification of each that is found. */
function programs() {
  const path = [...(process.env.PATH ?? "").split(delimiter), "/usr/sbin", "/sbin"].filter((folder) => folder !== "");
  const onPath = ["envoy", "iptables-restore", "openssl"].flatMap((name) => path.map((folder) => join(folder, name)));
  const named = ["ENVOY_PATH", "CHROMIUM_PATH", "XDSPROBE"].map((name) => process.env[name] ?? "");
  const installed = ["envoy", "iptables"].map((tool) => join(root, "tools", tool, "build"));
  return [...onPath, ...named, "/usr/bin/chromium", ...installed].filter(existsSync).map((found) => {
    const { size, mtimeMs } = statSync(found);
    return `${found} ${size} ${mtimeMs}`;
  });
}
