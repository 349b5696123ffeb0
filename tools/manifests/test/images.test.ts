import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const root = fileURLToPath(new URL("../../..", import.meta.url));

/** Instructions of a Containerfile: the word and the rest, with continued lines joined. */
function instructionsOf(image: string): readonly (readonly [string, string])[] {
  return readFileSync(join(root, "manifests/images", image, "Containerfile"), "utf8")
    .replaceAll(/^#.*\n/gm, "")
    .replaceAll("\\\n", " ")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => [line.slice(0, line.indexOf(" ")), line.slice(line.indexOf(" ") + 1)] as const);
}

/** Paths in the repository, and where the image has them. Arguments of the build are not known here. */
function copies(image: string): readonly (readonly [string, string])[] {
  return instructionsOf(image)
    .filter(([word, rest]) => word === "COPY" && !rest.startsWith("--from="))
    .map(([, rest]) => rest.split(" ").filter((part) => !part.startsWith("--")))
    .map(([from = "", to = ""]) => [from, to] as const)
    .filter(([from]) => !from.startsWith("$") && !from.startsWith("manifests/"));
}

/** Packages that the bundles of both commands import instead of containing them. */
function externalPackages(): readonly string[] {
  const { targetDefaults } = JSON.parse(readFileSync(join(root, "nx.json"), "utf8"));
  const command: string = targetDefaults.bundle.options?.command ?? targetDefaults.bundle.command;
  return [...command.matchAll(/--external:(\S+)/g)].map(([, name = ""]) => name);
}

test("the image pilot has the packages that are not part of its bundle, in the version that istiod needs", () => {
  const { dependencies } = JSON.parse(readFileSync(join(root, "apps/istiod/package.json"), "utf8"));
  const installed = JSON.parse(readFileSync(join(root, "manifests/images/pilot/package.json"), "utf8"));
  expect(externalPackages()).toEqual(["@kubernetes/client-node"]);
  expect(installed.dependencies).toEqual(
    Object.fromEntries(externalPackages().map((name) => [name, dependencies[name]])),
  );
});

interface LockedPackage {
  readonly version?: string;
  readonly integrity?: string;
  readonly hasInstallScript?: boolean;
}

/** Packages of a lock file with their versions and digests, without the root and workspaces. */
function lockedPackages(file: string): readonly (readonly [string, LockedPackage])[] {
  const { packages } = JSON.parse(readFileSync(join(root, file), "utf8")) as {
    packages: Record<string, LockedPackage>;
  };
  return Object.entries(packages)
    .filter(([path]) => path.includes("node_modules/"))
    .map(([path, locked]) => [path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length), locked]);
}

test("the packages of the image pilot are those of the repository, by digest, and need no scripts", () => {
  const own = new Set(
    lockedPackages("package-lock.json").map(([name, { version, integrity }]) => `${name}@${version} ${integrity}`),
  );
  const installed = lockedPackages("manifests/images/pilot/package-lock.json");
  expect(installed.length).toBeGreaterThan(20);
  for (const [name, { version, integrity, hasInstallScript }] of installed) {
    expect(integrity, name).toMatch(/^sha512-/);
    expect(own, `npm update ${name} in manifests/images/pilot`).toContain(`${name}@${version} ${integrity}`);
    expect(hasInstallScript, name).toBe(undefined);
  }
  const commands = instructionsOf("pilot").filter(([, rest]) => rest.startsWith("npm "));
  expect(commands.map(([, rest]) => rest.split(" ").slice(0, 4))).toEqual([
    ["npm", "ci", "--omit=dev", "--ignore-scripts"],
  ]);
});

test.each(["pilot", "proxyv2"])("the image %s is based on an image by digest, which has no default", (image) => {
  const bases = instructionsOf(image).filter(([word]) => word === "FROM");
  expect(bases.length).toBeGreaterThan(0);
  for (const [, base] of bases) expect(base).toMatch(/^\$\{BASE\}@\$\{BASE_DIGEST\}( AS \w+)?$/);
  expect(instructionsOf(image).filter(([word, rest]) => word === "ARG" && rest.startsWith("BASE_DIGEST"))).toEqual([
    ["ARG", "BASE_DIGEST"],
  ]);
});

test("workflows use actions by the digest of a commit", () => {
  const folder = join(root, ".github/workflows");
  const used = readdirSync(folder).flatMap((file) =>
    [...readFileSync(join(folder, file), "utf8").matchAll(/uses:\s*(\S+)(.*)/g)].map(
      ([, action = "", rest = ""]) => action + rest,
    ),
  );
  expect(used.length).toBeGreaterThan(0);
  for (const action of used) expect(action).toMatch(/^[\w-]+\/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/);
});

const images: readonly (readonly [string, string])[] = [
  ["pilot", "pilot-discovery"],
  ["proxyv2", "pilot-agent"],
];

test.each(images)("the image %s copies what the build creates", (image, command) => {
  const sources = copies(image).map(([from]) => from);
  expect(sources).toHaveLength(3);
  for (const source of sources) {
    // Bundles are there after `npm run build` only.
    const path = source.endsWith("/bundle/") ? join(source, "..") : source;
    expect(existsSync(join(root, path)), `${image}: ${source}`).toBe(true);
  }
  const [entry = ""] = JSON.parse(instructionsOf(image).find(([word]) => word === "ENTRYPOINT")?.[1] ?? "[]");
  expect(entry).toBe(`/usr/local/bin/${command}`);
  const links = instructionsOf(image).flatMap(([, rest]) => [...rest.matchAll(/ln -s (\S+) (\S+)/g)]);
  const target = links.find(([, , link]) => link === entry)?.[1] ?? "";
  const copied = copies(image).find(([, to]) => to.endsWith("/") && target.startsWith(to));
  expect(copied, `${entry} leads to ${target}`).toBeDefined();
  const source = join(root, target.replace(copied?.[1] ?? "", copied?.[0] ?? ""));
  expect(existsSync(source), source).toBe(true);
  // The command imports the bundle beside it.
  expect(readFileSync(source, "utf8")).toContain("../bundle/main.js");
});
