// Checks what each publishable package exports, as npm and TypeScript see it: publint and attw over every package that is not private.
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
let failed = 0;
for (const group of ["packages", "apps"]) {
  for (const name of readdirSync(join(root, group))) {
    const directory = join(root, group, name);
    if (!existsSync(join(directory, "package.json"))) continue;
    if (JSON.parse(readFileSync(join(directory, "package.json"), "utf8")).private) continue;
    for (const [tool, args] of [
      ["publint", ["run", "--strict", "--pack", "npm", directory]],
      [
        "attw",
        [
          "--pack",
          directory,
          "--profile",
          "esm-only",
          "--format",
          "ascii",
          "--no-emoji",
          "--exclude-entrypoints",
          "./*",
          "./package.json",
        ],
      ],
    ]) {
      try {
        execFileSync(join(root, "node_modules", ".bin", tool), args, { cwd: root, stdio: "pipe" });
        console.log(`${tool} ${name}: ok`);
      } catch (error) {
        failed++;
        console.error(`${tool} ${name}:\n${error.stdout}${error.stderr}`);
      }
    }
  }
}
process.exitCode = failed === 0 ? 0 : 1;
