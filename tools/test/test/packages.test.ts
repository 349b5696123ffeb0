import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { describe, expect, it } from "vitest";

interface PackageJson {
  readonly private?: boolean;
  readonly name?: string;
  readonly version?: string;
  readonly license?: string;
  readonly description?: string;
  readonly keywords?: readonly string[];
  readonly repository?: { readonly type: string; readonly url: string; readonly directory?: string };
  readonly homepage?: string;
  readonly type?: string;
  readonly engines?: { readonly node?: string };
  readonly sideEffects?: boolean;
  readonly files?: readonly string[];
  readonly exports?: Readonly<Record<string, unknown>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly nx?: { readonly targets?: Readonly<Record<string, unknown>> };
}

const root = fileURLToPath(new URL("../../..", import.meta.url));
const read = (...path: string[]): string => readFileSync(join(root, ...path), "utf8");
const packageJson = (...path: string[]): PackageJson => JSON.parse(read(...path, "package.json")) as PackageJson;
const projects = ["packages", "apps", "tools"].flatMap((group) =>
  readdirSync(join(root, group)).map((name) => `${group}/${name}`),
);
const published = projects.filter(
  (project) => existsSync(join(root, project, "package.json")) && packageJson(project).private !== true,
);

/** Versions of the published projects by name. */
const versions = new Map(
  published.map((project) => {
    const { name = "", version } = packageJson(project);
    return [name, version];
  }),
);

/** Returns the packages that the sources of a project import. */
function importedPackages(project: string): ReadonlySet<string> {
  const imported = ["src", "tool", "bin"]
    .filter((folder) => existsSync(join(root, project, folder)))
    .flatMap((folder) =>
      readdirSync(join(root, project, folder), { recursive: true, encoding: "utf8" })
        .filter((file) => /\.m?[jt]s$/.test(file))
        .flatMap((file) => ts.preProcessFile(read(project, folder, file), true, true).importedFiles),
    )
    .map(({ fileName }) => fileName)
    .filter((name) => !name.startsWith(".") && !name.startsWith("node:"))
    .map((name) => /^(?:@[^/]+\/)?[^/]+/.exec(name)?.[0] ?? name);
  return new Set(imported);
}

/** Packages that are needed although no source imports them, with the reason. */
const neededWithoutImport: Readonly<Record<string, readonly string[]>> = {
  // Loaded by @istiod/kubernetes on demand, and not part of the bundle.
  "apps/istiod": ["@kubernetes/client-node"],
  // Imported by the messages, which are generated at build time.
  "packages/envoy-api": ["@bufbuild/protobuf"],
  "packages/istio-api": ["@bufbuild/protobuf"],
};

describe.each(published)("what is published of %s", (project) => {
  const found = packageJson(project);

  it("says what it is, under which licence, and what it needs", () => {
    const { license, engines } = packageJson();
    expect(found).toMatchObject({ license, engines, type: "module", sideEffects: false });
    expect(found.description).toMatch(/^[A-Z].*[^.]$/);
    expect(Object.keys(found.exports ?? {})).toContain("./package.json");
    expect(found.files).not.toHaveLength(0);
  });

  it("depends on exactly the version of each sibling that it was built with", () => {
    const siblings = Object.entries(found.dependencies ?? {}).filter(([name]) => versions.has(name));
    expect(siblings).toEqual(siblings.map(([name]) => [name, versions.get(name)]));
  });

  it("declares every package that it imports, and no other", () => {
    const { name = "", dependencies, peerDependencies } = found;
    const declared = [...Object.keys(dependencies ?? {}), ...Object.keys(peerDependencies ?? {})];
    const needed = [...importedPackages(project), ...(neededWithoutImport[project] ?? [])];
    expect(declared.toSorted()).toEqual([...new Set(needed)].filter((each) => each !== name).toSorted());
  });

  it("says where it is from, and how it is found", () => {
    const { repository } = packageJson();
    expect(found.repository).toEqual({ ...repository, directory: project });
    const page = repository?.url.replace(/^git\+/, "").replace(/\.git$/, "");
    expect(found.homepage).toBe(`${page}/tree/HEAD/${project}#readme`);
    const { keywords = [] } = found;
    expect(keywords.length).toBeGreaterThanOrEqual(3);
    expect(keywords.filter((keyword) => !/^[a-z0-9]+(-[a-z0-9]+)*$/.test(keyword))).toEqual([]);
    expect(new Set(keywords).size).toBe(keywords.length);
  });

  it("names each of its dependencies in its README, with the reason", () => {
    const readme = read(project, "README.md");
    const named = (dependency: string): boolean =>
      readme.includes(`\`${dependency}\``) || (dependency.startsWith("@istiod/") && readme.includes("`@istiod/*`"));
    expect(Object.keys(found.dependencies ?? {}).filter((dependency) => !named(dependency))).toEqual([]);
  });
});

it("the control plane is composition and declarations: its sources have 6,000 lines at most", () => {
  const folder = join(root, "apps/istiod/src");
  const lines = readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts"))
    .map((file) => readFileSync(join(folder, file), "utf8").split("\n").length - 1);
  expect(lines.length).toBeGreaterThan(50);
  expect(lines.reduce((sum, count) => sum + count, 0)).toBeLessThanOrEqual(6000);
});

it.each(["istiod", "pilot-agent"])("V8 keeps the bundle of %s with a byte a character", (app) => {
  const bundle = join(root, "apps", app, "bundle/main.js");
  expect(existsSync(bundle), "the bundle exists: npm run build").toBe(true);
  // One character above U+00FF would double the memory of the whole source.
  const wide = readFileSync(bundle, "utf8").match(/.{0,60}[^\u0000-\u00ff].{0,20}/gu) ?? [];
  expect(wide).toEqual([]);
});

it("the README lists all packages, and each depends only on those above it", () => {
  const rows = read("README.md").matchAll(/^\| \[`@istiod\/.*?\| /gm);
  const listed = [...rows].flatMap(([row]) => [...row.matchAll(/`(@istiod\/[\w-]+)`/g)].map(([, name = ""]) => name));
  const libraries = published.filter((project) => project.startsWith("packages/"));
  expect(listed.toSorted()).toEqual(libraries.map((project) => project.replace("packages/", "@istiod/")).toSorted());
  const below = listed.flatMap((name, at) =>
    Object.keys(packageJson(name.replace("@istiod/", "packages/")).dependencies ?? {})
      .filter((dependency) => listed.indexOf(dependency) >= at)
      .map((dependency) => `${name} imports ${dependency}`),
  );
  expect(below).toEqual([]);
});

it.each(projects)("%s has a cached test target, and tests that run in its directory", (project) => {
  expect(Object.keys(packageJson(project).nx?.targets ?? {})).toContain("test");
  expect(read(project, "vitest.config.ts")).toBe('export { default } from "../../vitest.base.js";\n');
});

it("the API reference covers every export, by an entry point of typedoc.json", () => {
  const { entryPoints } = JSON.parse(read("typedoc.json")) as { entryPoints: readonly string[] };
  const patterns = entryPoints.map(
    (pattern) => new RegExp(`^${pattern.replaceAll(".", "\\.").replaceAll("*", "[^/]+")}$`),
  );
  const sources = published.flatMap((project) =>
    Object.values(packageJson(project).exports ?? {}).flatMap((exported) => {
      const source = (exported as { readonly "@istiod/source"?: string })["@istiod/source"];
      return source === undefined ? [] : [join(project, source)];
    }),
  );
  expect(sources).toContain("packages/ca/src/testing/index.ts");
  expect(sources.filter((source) => !patterns.some((pattern) => pattern.test(source)))).toEqual([]);
});

it("the table of packages in the README has each once", () => {
  const rows = [...read("README.md").matchAll(/^\| (\[.*?) \|/gm)].flatMap(([, cell = ""]) =>
    [...cell.matchAll(/\]\(((?:packages|apps)\/[\w-]+)\)/g)].map(([, folder]) => folder),
  );
  expect(rows.toSorted()).toEqual(published.toSorted());
});

/** Paths of every page that people read, and of the changelog. */
const pages = (): readonly string[] => {
  const documents = [
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "examples/README.md",
    ...["docs", "docs/design", "docs/maintainers", "docs/reference"].flatMap((folder) =>
      readdirSync(join(root, folder))
        .filter((name) => name.endsWith(".md"))
        .map((name) => `${folder}/${name}`),
    ),
  ];
  return [
    ...documents,
    ...projects.map((project) => `${project}/README.md`).filter((path) => existsSync(join(root, path))),
  ];
};

it("every table of a page has a header, so that no row is cut off by an empty line", () => {
  const broken = pages().flatMap((path) => {
    const lines = read(path).split("\n");
    const startsTable = (at: number): boolean =>
      lines[at]?.startsWith("|") === true && lines[at - 1]?.startsWith("|") !== true;
    return lines.flatMap((_, at) =>
      startsTable(at) && !/^\|[-:| ]+\|$/.test(lines[at + 1] ?? "") ? [`${path}:${at + 1}`] : [],
    );
  });
  expect(broken).toEqual([]);
});

it("every test that may be skipped says why, by the second argument of skip", () => {
  const files = projects.flatMap((project) => {
    const folder = join(root, project, "test");
    return existsSync(folder)
      ? readdirSync(folder, { recursive: true, encoding: "utf8" })
          .filter((name) => name.endsWith(".test.ts"))
          .map((name) => `${project}/test/${name}`)
      : [];
  });
  expect(files).toContain("tools/test/test/packages.test.ts");
  const silent =
    /\.(?:skip|run)If\b|\b(?:it|test|describe)\.(?:skip|todo)\b|\bskip\(\s*\)|\bskip\((?!reason\b|[A-Z_]+\))[^,"`()]*\)/;
  const found = files.flatMap((file) =>
    read(file)
      .split("\n")
      .flatMap((line, at) =>
        silent.test(line) && !line.includes("const silent") ? [`${file}:${at + 1}: ${line.trim()}`] : [],
      ),
  );
  expect(found).toEqual([]);
});

it("every link between documents leads to a file", () => {
  const broken = pages().flatMap((path) =>
    [...read(path).matchAll(/\]\((?!https?:)([^)#\s]+)[^)]*\)/g)]
      .map(([, link = ""]) => link)
      .filter((link) => !existsSync(join(root, path, "..", link)))
      .map((link) => `${path}: ${link}`),
  );
  expect(broken).toEqual([]);
});

it("every link to a heading of a document leads to one", () => {
  const anchorOf = (heading: string): string =>
    heading
      .replace(/\[([^\]]*)\]\([^)]*\)/g, "$1")
      .toLowerCase()
      .replace(/[^\p{L}\p{N}_\- ]/gu, "")
      .replaceAll(" ", "-");
  const anchors = (text: string): readonly string[] =>
    [...text.replace(/^ *```[^]*?^ *```$/gm, "").matchAll(/^#+ (.*)$/gm)].map(([, heading = ""]) => anchorOf(heading));
  const links = pages().flatMap((path) =>
    [...read(path).matchAll(/\]\((?!https?:)([^)#\s]*)#([^)\s]+)\)/g)].map(([, file = "", anchor = ""]) => ({
      path,
      target: file === "" ? path : join(path, "..", file),
      anchor,
    })),
  );
  expect(links).toContainEqual({
    path: "docs/README.md",
    target: "docs/observability.md",
    anchor: "metrics",
  });
  const broken = links.filter(
    ({ target, anchor }) => target.endsWith(".md") && !anchors(read(target)).includes(anchor),
  );
  expect(broken).toEqual([]);
});

it("READMEs of packages with several folders have a table with each", () => {
  const missing = published.flatMap((project) => {
    const folders = existsSync(join(root, project, "src"))
      ? readdirSync(join(root, project, "src"), { withFileTypes: true }).filter((entry) => entry.isDirectory())
      : [];
    const text = read(project, "README.md");
    if (folders.length < 4 && !/^\| folder \|/m.test(text)) return [];
    return folders.filter(({ name }) => !text.includes(`\`${name}/`)).map(({ name }) => `${project}: ${name}/`);
  });
  expect(missing).toEqual([]);
});

it("the files of the code that design notes name exist", () => {
  const named = pages()
    .filter((page) => page.startsWith("docs/design/"))
    .flatMap((page) => {
      const [, code = ""] = /^Date: .* Code: (.*)$/m.exec(read(page)) ?? [];
      return [...code.matchAll(/`((?:apps|packages|tools|manifests|proto)\/[\w./-]+)`/g)].map(([, path = ""]) => ({
        page,
        path,
      }));
    });
  expect(named.length).toBeGreaterThan(30);
  expect(named.filter(({ path }) => !existsSync(join(root, path)))).toEqual([]);
});

it.each(["CHANGELOG.md", "docs/security.md"])("every test that %s names exists", (page) => {
  const tests = [...read(page).matchAll(/`((?:apps|packages|tools)\/[\w./-]+\/test\b[\w./-]*)`/g)].map(
    ([, path = ""]) => path,
  );
  expect(tests.length).toBeGreaterThan(30);
  expect(tests.filter((path) => !existsSync(join(root, path)))).toEqual([]);
});
