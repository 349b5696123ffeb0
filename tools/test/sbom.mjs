// Writes a software bill of materials of the runtime dependencies (CycloneDX) to build/sbom.json, and prints their
// licences and known vulnerabilities. Fails for a licence that is not listed here and for a dependency without an
// integrity hash in the lockfile.
import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";

const licences = new Set([
  "0BSD",
  "Apache-2.0",
  "Unlicense",
  "BSD-2-Clause",
  "BSD-3-Clause",
  "ISC",
  "MIT",
  "(Apache-2.0 AND BSD-3-Clause)",
]);

/** Without `-s` of the npm that runs this, which hides errors. */
const env = { ...process.env, npm_config_loglevel: "error" };
const published = ["packages", "apps"].flatMap((group) =>
  readdirSync(group).flatMap((name) => ["-w", `${group}/${name}`]),
);
const lock = JSON.parse(readFileSync("package-lock.json", "utf8"));
const bill = JSON.parse(
  execFileSync(
    "npm",
    ["sbom", "--omit", "dev", "--sbom-format", "cyclonedx", "--sbom-type", "application", ...published],
    {
      env,
      encoding: "utf8",
      maxBuffer: 64 * 1024 * 1024,
      stdio: ["ignore", "pipe", "ignore"],
    },
  ),
);
bill.metadata.component.name = lock.name;
mkdirSync("build", { recursive: true });
writeFileSync("build/sbom.json", `${JSON.stringify(bill, undefined, 2)}\n`);

const components = new Set(
  bill.components.map(({ group, name, version }) => `${group ? `${group}/` : ""}${name} ${version}`),
);
/** Paths in the lockfile of the packages that are installed, not those of this repository. */
const external = Object.entries(lock.packages).filter(
  ([path, { version, link }]) =>
    path.includes("node_modules/") && !link && components.has(`${nameOf(path)} ${version}`),
);
const faults = [];
const byLicence = new Map();
for (const [path, { version, license, integrity }] of external) {
  const name = nameOf(path);
  if (integrity === undefined) faults.push(`${name} ${version}: no integrity hash in package-lock.json`);
  if (!licences.has(license))
    faults.push(`${name} ${version}: licence ${license} is not in the list of tools/test/sbom.mjs`);
  byLicence.set(license, [...(byLicence.get(license) ?? []), `${name} ${version}`]);
}
for (const [license, packages] of [...byLicence].sort())
  console.log(`${license} (${packages.length}): ${packages.sort().join(", ")}`);
console.log(`\n${external.length} packages; build/sbom.json has ${bill.components.length} components`);

const audit = spawnSync("npm", ["audit", "--omit", "dev", ...published], { env, encoding: "utf8" });
if (/audit endpoint returned an error|ENOTFOUND|ECONNREFUSED|ETIMEDOUT/.test(audit.stderr))
  console.log("npm audit: the registry does not answer audit requests");
else {
  console.log(audit.stdout.trim());
  if (audit.status !== 0) faults.push("npm audit reports vulnerabilities");
}

for (const fault of faults) console.error(`sbom: ${fault}`);
process.exitCode = faults.length === 0 ? 0 : 1;

function nameOf(path) {
  return path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length);
}
