import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { FakeClock } from "@istiod/runtime/testing";
import { expect, test } from "vitest";
import { tokenCommand } from "@istiod/commands";
import { folder } from "./folder.js";

/** Runs the command. Resolves to its output. */
async function token(...args: string[]): Promise<string> {
  let out = "";
  const command = tokenCommand({ print: (text) => (out += text), clock: new FakeClock(Date.UTC(2030, 0, 1)) });
  for (const each of [command, ...command.commands]) each.exitOverride().configureOutput({ writeErr: () => undefined });
  await command.parseAsync(args, { from: "user" });
  return out;
}

const account = ["--namespace", "shop", "--service-account", "cart"];

test("istiod token create prints a token with the audience and lifetime of kubectl's flags", async () => {
  const key = join(await folder({}), "token.key");
  const keyFile = ["--tokenKeyFile", key];
  expect(await token("create-key", ...keyFile)).toBe(
    `${key} signs tokens; istiod verifies them with --tokenKeyFile ${key}.pub\n`,
  );
  expect(((await stat(key)).mode & 0o777).toString(8)).toBe("600");
  expect(await readFile(`${key}.pub`, "utf8")).toMatch(/^-----BEGIN PUBLIC KEY-----/);
  const now = Date.UTC(2030, 0, 1) / 1000;
  expect(decodeJwt(await token("create", ...keyFile, ...account))).toMatchObject({
    sub: "system:serviceaccount:shop:cart",
    aud: ["istio-ca"],
    exp: now + 24 * 3600,
  });
  const more = ["-n", "bank", "--audience", "a,b", "--duration", "1h30m"];
  expect(decodeJwt(await token("create", ...keyFile, "--service-account", "vault", ...more))).toMatchObject({
    sub: "system:serviceaccount:bank:vault",
    aud: ["a", "b"],
    exp: now + 90 * 60,
  });
});

test.each([
  [["create", ...account], "--tokenKeyFile: is required"],
  [["create", "--tokenKeyFile", "k", "--service-account", "cart"], "--namespace: is required"],
  [["create", "--tokenKeyFile", "k", "--namespace", "shop"], "--service-account: is required"],
  [["create", "--tokenKeyFile", "k", ...account, "--duration", "59s"], "--duration: must be between 1m and 8784h"],
  [["create", "--tokenKeyFile", "k", ...account, "--duration", "8785h"], "--duration: must be between 1m and 8784h"],
  [["create", "--tokenKeyFile", "k", ...account, "--audience", ""], "--audience: at least one is required"],
  [["create", "--tokenKeyFile", "/does/not/exist", ...account], "/does/not/exist cannot be read"],
  [["create-key"], "--tokenKeyFile: is required"],
])("istiod token %j is rejected", async (args, message) => {
  await expect(token(...args)).rejects.toThrow(message);
});

function decodeJwt(text: string): unknown {
  return JSON.parse(Buffer.from(text.split(".")[1] ?? "", "base64url").toString());
}
