import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { folder, serve } from "./serving.js";

it("warns that certificates keep the former trust domain when that of the mesh configuration changes", async () => {
  const root = await folder({ "config/empty.yaml": "", "mesh.yaml": "trustDomain: before.example" });
  const mesh = join(root, "mesh.yaml");
  const istiod = await serve({
    configDir: join(root, "config"),
    meshConfig: mesh,
    caDir: join(root, "ca"),
    secureGRPCAddr: "127.0.0.1:0",
  });
  const warnings = (): readonly string[] =>
    istiod.lines.filter(({ level, msg }) => level === "warn" && msg.includes("trustDomain")).map(({ msg }) => msg);
  expect(warnings()).toEqual([]);
  await writeFile(mesh, "trustDomain: after.example\ntrustDomainAliases: [before.example]");
  await expect
    .poll(warnings, { timeout: 30_000 })
    .toEqual([
      "mesh configuration: trustDomain is now after.example, but this istiod certifies identities of before.example until it is restarted; keep before.example in trustDomainAliases until all certificates were renewed after that",
    ]);
});
