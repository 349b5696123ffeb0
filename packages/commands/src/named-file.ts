import { readFile } from "node:fs/promises";
import { reasonOf } from "@istiod/runtime";

/** Reads the file that a flag names. @throws Error that names the flag and the file */
export async function readNamedFile(flag: string, file: string): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch (cause) {
    throw new Error(`${flag} ${file}: ${reasonOf(cause)}`, { cause });
  }
}
