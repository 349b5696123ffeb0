import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";

/** Groups of informers that the server or the libraries use. ForResource uses a dynamic informer for the others. */
const informerGroups = new Set(["admissionregistration", "core", "discovery", "flowcontrol", "rbac"]);
/** A helper of tests outside of test files, which imports a fake client of each API version. */
const testHelper = "pkg/admission/plugin/policy/generic/policy_test_context.go";

/**
 * Removes parts of vendored libraries that the server imports but does not use. They would be a fifth of the compiler's
 * work.
 *
 * @param vendor Directory that `go mod vendor` created.
 */
export async function trimLibraries(vendor: string): Promise<void> {
  await rm(join(vendor, "k8s.io/apiserver", testHelper));
  const informers = join(vendor, "k8s.io/client-go/informers");
  const [factory, generic] = [join(informers, "factory.go"), join(informers, "generic.go")];
  const read = (path: string): Promise<string> => readFile(path, "utf8");
  const trimmed = trimInformers(await read(factory), await read(generic), informerGroups);
  await writeFile(factory, trimmed.factory);
  await writeFile(generic, trimmed.generic);
}

/**
 * Removes groups from the generated factory of informers.
 *
 * @param factory Content of `informers/factory.go` of client-go.
 * @param generic Content of `informers/generic.go` of client-go.
 * @throws Error if the factory has none of the groups to keep
 */
export function trimInformers(factory: string, generic: string, keep: ReadonlySet<string>) {
  const groups = [...factory.matchAll(/^\t(?<accessor>\w+)\(\) (?<group>\w+)\.Interface$/gm)].map(
    ({ groups: found }) => ({ accessor: found?.["accessor"] ?? "", group: found?.["group"] ?? "" }),
  );
  for (const group of keep)
    if (!groups.some((found) => found.group === group)) throw new Error(`client-go has no informers of ${group}`);
  for (const { accessor, group } of groups.filter((found) => !keep.has(found.group))) {
    factory = factory
      .replace(`\t${accessor}() ${group}.Interface\n`, "")
      .replace(new RegExp(`^func \\(f \\*sharedInformerFactory\\) ${accessor}\\(\\) [^}]*}\n`, "m"), "");
    generic = generic.replace(new RegExp(`^\tcase .*\n.*informer: f\\.${accessor}\\(\\)\\..*\n`, "gm"), "");
  }
  return { factory: withoutUnusedImports(factory), generic: withoutUnusedImports(generic) };
}

/** Removes the named imports of a Go file that it does not use. */
function withoutUnusedImports(source: string): string {
  return source.replace(/^\t(\w+) "[^"]+"\n/gm, (line, name: string) =>
    new RegExp(`(?<![\\w"/.])${name}\\.`).test(source) ? line : "",
  );
}
