import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { DebianPackage } from "../downloads/debian-packages.js";
import type { SourcedLayer } from "../images.js";
import type { Architecture, Lock } from "../lock.js";
import type { Revision } from "../revision.js";

type Component = Readonly<Record<string, unknown>> & { readonly purl: string };

/** Returns the bill of materials of an image of one architecture in the form of CycloneDX 1.5. */
export async function billOfMaterials(
  name: string,
  architecture: Architecture,
  layers: readonly SourcedLayer[],
  { version, licence }: Revision,
  { debian }: Lock,
): Promise<object> {
  const components: Component[] = [];
  for (const { packages = [], programs = [], npmPackages = [] } of layers) {
    for (const each of packages) components.push(await debianComponent(each, architecture, debian.release));
    for (const each of programs)
      components.push({
        type: "application",
        name: each.name,
        version: each.version,
        licenses: [{ license: { id: each.licence } }],
        purl: each.purl,
        hashes: [{ alg: "SHA-256", content: each.sha256 }],
      });
    for (const each of npmPackages)
      components.push({
        type: "library",
        name: each.name,
        version: each.version,
        licenses: [each.licence.includes(" ") ? { expression: each.licence } : { license: { id: each.licence } }],
        purl: `pkg:npm/${each.name.replace("@", "%40")}@${each.version}`,
        hashes: [{ alg: "SHA-512", content: Buffer.from(each.integrity.slice(7), "base64").toString("hex") }],
      });
  }
  return {
    bomFormat: "CycloneDX",
    specVersion: "1.5",
    version: 1,
    metadata: { component: { type: "container", name, version, licenses: [{ license: { id: licence } }] } },
    components: components.toSorted((a, b) => (a.purl < b.purl ? -1 : 1)),
  };
}

async function debianComponent(each: DebianPackage, architecture: Architecture, release: string): Promise<Component> {
  const { name, version, sha256 } = each;
  const qualifiers = `arch=${/^Architecture: all$/m.test(each.control) ? "all" : architecture}&distro=${release}`;
  return {
    type: "library",
    name,
    version,
    licenses: (await licencesOf(each)).map((text) => ({ license: { name: text } })),
    purl: `pkg:deb/debian/${encodeURIComponent(name)}@${encodeURIComponent(version)}?${qualifiers}`,
    hashes: [{ alg: "SHA-256", content: sha256 }],
  };
}

/** Returns the short names of licences in a package's copyright file, if it has the form that Debian recommends. */
async function licencesOf({ name, files }: DebianPackage): Promise<readonly string[]> {
  const text = await readFile(join(files, `usr/share/doc/${name}/copyright`), "utf8").catch(() => "");
  const names = [...text.matchAll(/^License: *(\S.*?)\s*$/gm)].map(([, licence = ""]) => licence);
  return names.length > 0 ? [...new Set(names)].toSorted() : [`see /usr/share/doc/${name}`];
}
