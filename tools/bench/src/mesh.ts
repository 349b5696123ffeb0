import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { writeObjects } from "./mesh/directory.js";
import { Mesh } from "./mesh/mesh.js";
import { meshFlags, meshOptions, meshUsage } from "./options.js";

const usage = `Usage: mesh --out DIR [flags]

Writes a synthetic mesh: the objects to DIR/mesh, one per file, and the proxies to DIR/proxies.json.

${meshUsage}`;

const { values } = parseArgs({
  options: { ...meshFlags, help: { type: "boolean", short: "h" }, out: { type: "string" } },
});
if (values.help) console.log(usage);
else if (values.out === undefined) {
  console.error(usage);
  process.exitCode = 2;
} else {
  const mesh = new Mesh(meshOptions(values));
  await writeObjects(join(values.out, "mesh"), mesh.objects());
  await writeFile(join(values.out, "proxies.json"), `${JSON.stringify(mesh.proxies(), undefined, 1)}\n`);
}
