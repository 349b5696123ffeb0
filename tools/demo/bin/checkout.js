import { accessSync, constants, existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";

const WRITTEN = ["", "node_modules", ".nx", ".nx/cache", ".nx/workspace-data", "build"];
const GROUPS = ["packages", "apps", "tools"];
const OUTPUTS = ["dist", "bundle"];

/**
 * Returns the reason why a build cannot write into a checkout, such as one of another user; undefined if it can.
 *
 * @param {string} root
 * @param {number} [uid] the user who builds
 * @returns {string | undefined}
 */
export function whyNotWritable(root, uid = process.getuid?.()) {
  const outputs = GROUPS.filter((group) => existsSync(join(root, group))).flatMap((group) =>
    readdirSync(join(root, group)).flatMap((name) => OUTPUTS.map((output) => join(group, name, output))),
  );
  const path = [...WRITTEN, ...outputs].map((name) => join(root, name)).find((each) => !isWritable(each));
  if (path === undefined) return undefined;
  const owner = statSync(path).uid;
  const reason = owner === uid ? "is not writable" : `belongs to another user (uid ${owner}), and is not writable`;
  return `${path} ${reason}: clone the repository as the user who runs it, or run: sudo chown -R "$(id -u)" ${root}`;
}

function isWritable(path) {
  if (!existsSync(path)) return true;
  try {
    accessSync(path, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}
