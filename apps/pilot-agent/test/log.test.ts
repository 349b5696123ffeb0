import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { NOT_BUILT } from "./agent-fixture.js";

const index = fileURLToPath(new URL("../dist/index.js", import.meta.url));

it("log lines escape control characters of what others sent", ({ skip }) => {
  skip(!existsSync(index), NOT_BUILT);
  const script = `import { stderrLog } from ${JSON.stringify(index)};
stderrLog("info", false).warn({ label: "a\\nb" }, "first\\nforged\\tline \\u001b[2J\\u0085\\u2028end");`;
  const { stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", script], {
    encoding: "utf8",
    timeout: 20_000,
  });
  expect(stderr.split("\n")).toHaveLength(2);
  expect(stderr).toMatch(/\twarn\tfirst\\nforged\\tline \\u001b\[2J\\u0085\\u2028end\tlabel=a\\nb\n$/);
});
