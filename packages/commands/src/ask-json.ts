import { ask } from "./proxy-dump.js";

/** Gets JSON over HTTP. @throws Error that names the flag and the URL */
export async function askJson(flag: string, base: string, path: string): Promise<unknown> {
  const text = await ask(flag, base, path);
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new Error(`${flag} ${base}: the answer is not JSON`, { cause });
  }
}
