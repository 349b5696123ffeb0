import { expect, test } from "vitest";
import { ARCHITECTURES, readLock } from "../src/lock.js";
import { TOOLS } from "../src/root/tools.js";
import { SYSTEM } from "../src/root/system.js";

test.each(ARCHITECTURES)(
  "the lock has a version and a digest of everything that images are built from: %s",
  async (each) => {
    const { node, envoy, debian } = await readLock();
    const digest = expect.stringMatching(/^[0-9a-f]{64}$/);
    expect(node).toMatchObject({ version: expect.stringMatching(/^22\.\d+\.\d+$/), [each]: { sha256: digest } });
    expect(envoy).toMatchObject({ version: "1.40.0", [each]: { sha256: digest, executable: digest } });
    const names = [...Object.keys(SYSTEM), ...Object.keys(TOOLS)].toSorted();
    expect(Object.keys(debian[each])).toEqual(names);
    for (const name of names)
      expect(debian[each][name], name).toEqual({ version: expect.stringMatching(/^\d/), sha256: digest });
  },
);
