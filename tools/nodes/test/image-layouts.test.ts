import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { lstatSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { unpackLayout } from "../src/agent/image-layout.js";
import { readImages } from "../src/agent/images.js";
import { resolveInRoot } from "../src/agent/resolve-in-root.js";

function folder(): string {
  const directory = mkdtempSync(join(tmpdir(), "layouts-"));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  return directory;
}

test("links are resolved in the root, and parts that do not exist are kept", async () => {
  const root = folder();
  mkdirSync(join(root, "run"));
  mkdirSync(join(root, "var/lib"), { recursive: true });
  symlinkSync("/run", join(root, "var/run"));
  symlinkSync("../lib", join(root, "var/lib/up"));
  symlinkSync("/../../etc", join(root, "outside"));
  symlinkSync("loop", join(root, "loop"));
  expect(await resolveInRoot(root, "/var/run/secrets/token")).toBe("/run/secrets/token");
  expect(await resolveInRoot(root, "/var/lib/up/x")).toBe("/var/lib/x");
  expect(await resolveInRoot(root, "/outside/passwd")).toBe("/etc/passwd");
  expect(await resolveInRoot(root, "/")).toBe("/");
  await expect(resolveInRoot(root, "/loop/x")).rejects.toThrow("/loop/x: too many levels of symbolic links");
});

/** Writes a layout with two layers, of which the second replaces a file of the first. */
function layoutOf(config: object, architecture = process.arch === "x64" ? "amd64" : process.arch): string {
  const layout = folder();
  mkdirSync(join(layout, "blobs/sha256"), { recursive: true });
  const add = (content: Buffer | string) => {
    const hex = createHash("sha256").update(content).digest("hex");
    writeFileSync(join(layout, "blobs/sha256", hex), content);
    return { digest: `sha256:${hex}`, size: content.length };
  };
  const layers = ["one", "two"].map((text) => {
    const files = folder();
    writeFileSync(join(files, "file"), text);
    return { mediaType: "layer", ...add(execFileSync("tar", ["-czf", "-", "-C", files, "file"])) };
  });
  const manifest = add(JSON.stringify({ config: { mediaType: "config", ...add(JSON.stringify({ config })) }, layers }));
  const platform = { architecture, os: "linux" };
  const index = add(JSON.stringify({ manifests: [{ mediaType: "manifest", ...manifest, platform }] }));
  const mediaType = "application/vnd.oci.image.index.v1+json";
  writeFileSync(join(layout, "index.json"), JSON.stringify({ manifests: [{ mediaType, ...index }] }));
  return layout;
}

test("a layout yields the files of all layers, the user, the environment and the entrypoint", async () => {
  const config = { User: "7:8", Env: ["PATH=/bin", "EQUAL=a=b"], Entrypoint: ["/bin/x"], Cmd: ["y"] };
  const image = await unpackLayout(layoutOf(config), folder());
  const rest = { entrypoint: ["/bin/x"], args: ["y"], env: { PATH: "/bin", EQUAL: "a=b" }, user: 7, group: 8 };
  expect(image).toMatchObject(rest);
  expect(readFileSync(join(image.root ?? "", "file"), "utf8")).toBe("two");
  expect(lstatSync(image.root ?? "").isDirectory()).toBe(true);
});

test("a layout without an image for this machine, or with a user by name, is an error", async () => {
  await expect(unpackLayout(layoutOf({}, "s390x"), folder())).rejects.toThrow(/: there is no image for \w+$/);
  await expect(unpackLayout(layoutOf({ User: "nobody" }), folder())).rejects.toThrow("User nobody: must be numbers");
});

test("a registry file has layouts relative to it", async () => {
  const directory = folder();
  const file = join(directory, "images.yaml");
  writeFileSync(file, "pilot: { layout: ./pilot }\n");
  expect(await readImages(file)).toEqual({ pilot: { layout: join(directory, "pilot") } });
  writeFileSync(file, "pilot: { layout: ./pilot, args: [] }\n");
  await expect(readImages(file)).rejects.toThrow("pilot.layout: must be the only field");
  writeFileSync(file, "pilot: { layout: 7 }\n");
  await expect(readImages(file)).rejects.toThrow("pilot.layout: must be a string");
});
