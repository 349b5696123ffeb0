import { parse } from "./parse.js";
import { SyntaxFault } from "./tokens.js";

/**
 * Returns the reason why Envoy 1.40, which has LuaJIT 2.1, would not compile a script; undefined if it would. What a
 * script does when it is loaded is not known here, nor are LuaJIT's limits of constants and of jumps.
 */
export function luaFault(script: string): string | undefined {
  // Envoy passes the script as a C string.
  const nul = script.indexOf("\0");
  const text = (nul < 0 ? script : script.slice(0, nul)).replace(/^\uFEFF/, "");
  if (text.startsWith("\x1b")) return "begins with ESC, which marks compiled code";
  try {
    // A first line with # is for the shell.
    parse(text.replace(/^#[^\r\n]*/, ""));
    return undefined;
  } catch (cause) {
    if (cause instanceof SyntaxFault) return `is not valid Lua: ${cause.message}`;
    throw cause;
  }
}
