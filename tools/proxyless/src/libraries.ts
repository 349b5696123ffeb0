import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { goProbe } from "./build-go.js";
import { javaProbe } from "./build-java.js";

/** A gRPC library whose programs run here: a client and a server with one command line (see README.md). */
export interface Library {
  readonly name: "Go" | "Java" | "Node" | "Python";
  readonly command: readonly [program: string, ...args: string[]];
}

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** Returns the command of a library's programs; throws an Error with one sentence that says what is missing. */
const finders: Readonly<Record<Library["name"], () => Library["command"] | Promise<Library["command"]>>> = {
  Go: async () => [await goProbe()],
  Java: async () => {
    const java = process.env["JAVA"] ?? "java";
    const command = [java, "-XX:TieredStopAtLevel=1", "-cp", await javaProbe(), "Probe"] as const;
    await promisify(execFile)(java, [...command.slice(1), "version"]).catch(() => {
      throw new Error(`${java} is no Java of version 17 or later: name another one by JAVA`);
    });
    return command;
  },
  Node: () => {
    const program = here("../dist/node-probe.js");
    if (!existsSync(program)) throw new Error("tools/proxyless is not built: npm run build");
    return [process.execPath, program];
  },
  Python: async () => {
    const python = process.env["PYTHON"] ?? "python3";
    const command = [python, here("../python/probe.py")] as const;
    await promisify(execFile)(python, [command[1], "version"]).catch(() => {
      throw new Error(`${python} has no grpcio: pip install grpcio, or name another interpreter by PYTHON`);
    });
    return command;
  },
};

export const libraryNames = Object.keys(finders) as readonly Library["name"][];

/**
 * Finds a library's programs.
 *
 * @throws Error with one sentence that says what is missing
 */
export async function findLibrary(name: Library["name"]): Promise<Library> {
  return { name, command: await finders[name]() };
}

/** Returns the version of a library. */
export async function versionOf({ command: [program, ...args] }: Library): Promise<string> {
  return (await promisify(execFile)(program, [...args, "version"])).stdout.trim();
}
