import { existsSync, readFileSync } from "node:fs";
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
    .filter(([from]) => !from.startsWith("$"));
}

/** Packages that the bundles of both commands import instead of containing them. */
function externalPackages(): readonly string[] {
  const { targetDefaults } = JSON.parse(readFileSync(join(root, "nx.json"), "utf8"));
  const command: string = targetDefaults.bundle.options?.command ?? targetDefaults.bundle.command;
  return [...command.matchAll(/--external:(\S+)/g)].map(([, name = ""]) => name);
}

test("the image pilot has the packages that are not part of its bundle, in the version that istiod needs", () => {
  const { dependencies } = JSON.parse(readFileSync(join(root, "apps/istiod/package.json"), "utf8"));
  const installed = instructionsOf("pilot").filter(([, rest]) => rest.startsWith("npm install"));
  expect(externalPackages()).toEqual(["@kubernetes/client-node"]);
  expect(installed.map(([, rest]) => rest.split(" ").at(-1))).toEqual(
    externalPackages().map((name) => `${name}@${dependencies[name]}`),
  );
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
