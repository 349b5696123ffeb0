import { readFile } from "node:fs/promises";
import { CaError } from "../errors.js";

/** Reads a file as UTF-8. @throws CaError `store` that names the file */
export async function readText(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    throw CaError.from(error, "store", `${path} cannot be read`);
  }
}
