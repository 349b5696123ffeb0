import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { clusterUnavailable } from "@istiod/cluster";
import { findEnvoy } from "@istiod/envoy-binary";
import { afterAll, describe, expect, test } from "vitest";
import { type CommandBlock, commandBlocks } from "./pages/blocks.js";
import { outputDifference } from "./pages/expected-output.js";
import { PageShell } from "./pages/page-shell.js";

const root = fileURLToPath(new URL("../../..", import.meta.url));
const docs = readdirSync(join(root, "docs"))
  .filter((name) => name.endsWith(".md"))
  .map((name) => `docs/${name}`);
const readmes = ["packages", "apps", "tools"]
  .flatMap((group) => readdirSync(join(root, group)).map((name) => `${group}/${name}/README.md`))
  .filter((path) => existsSync(join(root, path)));
const pages = ["README.md", "CONTRIBUTING.md", ...docs, ...readmes]
  .map((page) => ({ page, blocks: commandBlocks(page, readFileSync(join(root, page), "utf8")) }))
  .filter(({ blocks }) => blocks.length > 0);

const bundles = ["istiod", "pilot-agent"].filter((app) => !existsSync(join(root, "apps", app, "bundle")));
const whyNotBuilt = bundles.length === 0 ? undefined : `there is no bundle of ${bundles.join(" and ")}: npm run build`;
const whyNoEnvoy = (await findEnvoy()) === undefined ? "there is no Envoy: npm run envoy:install" : undefined;
const whyNoKubectl =
  spawnSync("kubectl", ["version", "--client"]).status === 0
    ? undefined
    : "there is no kubectl: apt-get install kubernetes-client";
const whyNoCluster = (await clusterUnavailable()) ?? whyNoKubectl;

describe.each(pages)("the commands of $page", ({ page, blocks }) => {
  let starting: Promise<PageShell> | undefined;
  let failed = "";
  afterAll(async () => (await starting)?.end());

  for (const block of blocks) {
    const place = `${page}:${block.line}`;
    // Blocks depend on those before: none runs twice, and after a failure the rest is skipped.
    test(
      `${place}: ${block.commands[0]?.text.split("\n")[0] ?? ""}`,
      { timeout: 120_000, retry: 0 },
      async (context) => {
        const { skip, coveredBy, needsEnvoy, needsCluster } = block.markers;
        if (coveredBy !== undefined)
          expect(existsSync(join(root, coveredBy)), `${place}: covered=${coveredBy} names no file`).toBe(true);
        const reason =
          skip ??
          (needsEnvoy ? whyNoEnvoy : undefined) ??
          (needsCluster ? whyNoCluster : undefined) ??
          whyNotBuilt ??
          (failed === "" ? undefined : `${failed} has failed`);
        if (reason !== undefined) context.skip(reason);
        failed = place;
        await runBlock(await (starting ??= PageShell.start(root)), page, block);
        failed = "";
      },
    );
  }
});

/**
 * Runs a block's commands, and fails with the page's line where one ends otherwise or prints something else than is
 * shown.
 */
async function runBlock(shell: PageShell, page: string, { commands, markers }: CommandBlock): Promise<void> {
  for (const { line, text, output: shown } of commands) {
    const isLast = line === commands.at(-1)?.line;
    const expected = isLast ? markers.exit : 0;
    const { status, output } = await shell.run(text, isLast && markers.background);
    if (status !== expected)
      expect.fail(`${page}:${line}: exit status ${status}, expected ${expected}: ${text}\n${output}`);
    const difference = shown && outputDifference(shown, output);
    if (difference !== undefined)
      expect.fail(
        `${page}:${line}: the output is not what the page shows: ${text}\n${difference}\nall of it:\n${output}`,
      );
  }
  const { ready } = markers;
  if (ready !== undefined && !(await shell.answers(ready)))
    expect.fail(
      `${page}: ${ready} does not answer 200 after ${commands.at(-1)?.text ?? ""}\n${await shell.lastOutput()}`,
    );
}

test("every page with commands for a terminal is among those that are run", () => {
  expect(pages.map(({ page }) => page)).toEqual(
    expect.arrayContaining([
      "README.md",
      "docs/explain.md",
      "docs/istiod.md",
      "docs/kubernetes.md",
      "docs/multicluster.md",
      "docs/pilot-agent.md",
      "apps/istiod/README.md",
      "tools/bench/README.md",
    ]),
  );
});

describe("the blocks of a page", () => {
  const page = (info: string, ...body: readonly string[]): string =>
    ["text", `\`\`\`${info}`, ...body, "```", "text"].join("\n");
  const typed = (text: string): unknown =>
    commandBlocks("p.md", text).map(({ line, commands }) => ({
      line,
      commands: commands.map((command) => [command.line, command.text, command.output]),
    }));

  test("have a command for each line, or for each prompt, with its output", () => {
    expect(typed(page("", "npx istiod version", "", "# then", "echo a \\", "  b"))).toEqual([
      {
        line: 2,
        commands: [
          [3, "npx istiod version", undefined],
          [6, "echo a \\\n  b", undefined],
        ],
      },
    ]);
    expect(typed(page("console", "$ one \\", "> two", "out", "  put", "$ three", ""))).toEqual([
      {
        line: 2,
        commands: [
          [3, "one \\\ntwo", ["out", "  put"]],
          [7, "three", undefined],
        ],
      },
    ]);
    expect(typed(page("sh", "cat >f <<EOF", "a: 1", "$b", "EOF", "cat f"))).toEqual([
      {
        line: 2,
        commands: [
          [3, "cat >f <<EOF\na: 1\n$b\nEOF", undefined],
          [7, "cat f", undefined],
        ],
      },
    ]);
    expect(typed(page("sh", "for a in b c; do", "  echo $a", "done", "cat f"))).toEqual([
      {
        line: 2,
        commands: [
          [3, "for a in b c; do\n  echo $a\ndone", undefined],
          [6, "cat f", undefined],
        ],
      },
    ]);
    expect(typed(page("", "POD_NAME=a B='c d' \\", "npx pilot-agent"))).toEqual([
      { line: 2, commands: [[3, "POD_NAME=a B='c d' \\\nnpx pilot-agent", undefined]] },
    ]);
  });

  test("are not those of another language, nor output alone", () => {
    expect(typed(page("ts", "npx istiod"))).toEqual([]);
    expect(typed(page("", "my-mesh/cart.yaml:9: is wrong"))).toEqual([]);
  });

  test("say by markers how they are run", () => {
    const marked = (info: string, body = "npx istiod"): unknown => commandBlocks("p.md", page(info, body))[0]?.markers;
    expect(marked("console")).toEqual({ background: false, exit: 0, needsEnvoy: false, needsCluster: false });
    expect(marked("console background ready=http://127.0.0.1:8080/ready")).toMatchObject({
      background: true,
      ready: "http://127.0.0.1:8080/ready",
    });
    expect(marked("console exit=1 needs=envoy")).toMatchObject({ exit: 1, needsEnvoy: true });
    expect(marked("console needs=cluster", "$ kubectl get pods")).toMatchObject({ needsCluster: true });
    expect(() => marked("console needs=cluster", "$ helm list")).toThrow("p.md:2: helm acts on things outside");
    expect(marked("console needs=kubernetes")).toMatchObject({ skip: "needs a Kubernetes cluster" });
    expect(marked("console covered=tools/demo/test")).toMatchObject({
      skip: "covered by tools/demo/test",
      coveredBy: "tools/demo/test",
    });
    expect(() => marked("console needs=luck")).toThrow("p.md:2: needs=luck is no marker of a command block");
    expect(() => marked("console", "$ kubectl get pods")).toThrow(
      "p.md:2: kubectl acts on things outside of the test; mark the block by needs=kubernetes",
    );
    expect(() => marked("", "npm ci")).toThrow(
      "p.md:2: npm acts on things outside of the test; mark the block by setup, slow or covered=FILE",
    );
    expect(() => marked("", "pilot-agent istio-iptables -p 15001")).toThrow(
      "p.md:2: pilot-agent istio-iptables acts on things outside of the test; mark the block by needs=root",
    );
    expect(marked("", "npx pilot-agent istio-iptables --dry-run")).toEqual({
      background: false,
      exit: 0,
      needsEnvoy: false,
      needsCluster: false,
    });
    expect(() => marked("console background")).toThrow(
      "p.md:2: a command in the background needs the marker ready=URL",
    );
    expect(() => marked("console", "npx istiod discovery &")).toThrow("needs the marker ready=URL");
  });
});

describe("output that a page shows", () => {
  test.each([
    [["a", "b"], "a\nb\n", undefined],
    [["a …", "...", "z"], "a 17 b\nx\ny\nz\n", undefined],
    [["…", "z"], "z", undefined],
    [["a (version …)  b"], "a (version 1.2)  b   \n\n", undefined],
    [["a", "b"], "a\nc\n", "shown: b\nprinted: c"],
    [["a"], "a\nb\n", "shown: (nothing more)\nprinted: b"],
    [["a", "…", "z"], "a\nb\n", "shown: z\nprinted: (nothing more)"],
    [["a.b"], "axb", "shown: a.b\nprinted: axb"],
  ])("%j beside %j", (shown, output, difference) => {
    expect(outputDifference(shown, output)).toBe(difference);
  });
});
