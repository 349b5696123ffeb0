import { readFile } from "node:fs/promises";

/** Returns the first child of a process; undefined if it has none, or has ended. */
export async function childOf(pid: number): Promise<number | undefined> {
  const children = await readFile(`/proc/${pid}/task/${pid}/children`, "utf8").catch(() => "");
  const [first = ""] = children.trim().split(" ");
  return first === "" ? undefined : Number(first);
}
