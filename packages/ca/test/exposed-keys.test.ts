import { chmod, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { exposedKeys } from "@istiod/ca";
import { scratch } from "./openssl.js";

it.each([
  [0o600, undefined],
  [0o400, undefined],
  [0o640, "0640"],
  [0o644, "0644"],
  [0o602, "0602"],
])("a key file of mode %o is reported if others can access it", async (mode, reported) => {
  const directory = await scratch();
  const path = join(directory, "ca-key.pem");
  await writeFile(path, "key");
  await chmod(path, mode);
  const link = join(directory, "link.pem");
  await symlink(path, link);
  expect(await exposedKeys([path, link, join(directory, "missing.pem")])).toEqual(
    reported === undefined
      ? []
      : [
          { path, mode: reported },
          { path: link, mode: reported },
        ],
  );
});
