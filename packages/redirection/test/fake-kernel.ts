import type { CommandRunner } from "@istiod/redirection";

/** The rules of a network namespace, behind commands that behave as iptables. */
export interface FakeKernel {
  readonly run: CommandRunner;
  /** Command lines that modify rules or routes, including those that fail. */
  readonly changes: string[];
  /** Rules by table and chain. */
  readonly chains: Map<string, string[]>;
}

const builtIn = new Set(["INPUT", "FORWARD", "OUTPUT", "PREROUTING", "POSTROUTING"]);

/** Creates a namespace without rules. @param installed names of the installed commands */
export function fakeKernel(installed: readonly string[] = ["iptables-nft"]): FakeKernel {
  const chains = new Map<string, string[]>();
  const changes: string[] = [];
  const ok = { code: 0, stdout: "", stderr: "" };
  const failed = { code: 1, stdout: "", stderr: "no such rule or chain" };

  function restore(input: string): typeof ok {
    let table = "";
    for (const line of input.split("\n")) {
      if (line.startsWith("*")) table = line.slice(1).trim();
      const [verb = "", chain = "", ...rest] = line.split(" ");
      const key = `${table} ${chain}`;
      if (verb === "-N" && chains.has(key)) return { ...failed, stderr: "Chain already exists." };
      if (verb === "-N") chains.set(key, []);
      if ((verb === "-A" || verb === "-I") && builtIn.has(chain) && !chains.has(key)) chains.set(key, []);
      if (verb === "-A") chains.get(key)?.push(rest.join(" "));
      if (verb === "-I") chains.get(key)?.splice(Number(rest[0]) - 1, 0, rest.slice(1).join(" "));
    }
    return ok;
  }

  function edit(args: readonly string[]): typeof ok {
    const [, table, verb, chain = "", ...words] = args;
    const key = `${table} ${chain}`;
    const rules = chains.get(key);
    const at = rules?.indexOf(words.join(" ")) ?? -1;
    if (verb === "-C") return at >= 0 ? ok : failed;
    if (verb === "-I") chains.set(key, [words.slice(1).join(" "), ...(rules ?? [])]);
    else if (rules === undefined) return failed;
    else if (verb === "-D" && at >= 0) rules.splice(at, 1);
    else if (verb === "-F") rules.length = 0;
    else if (verb === "-X") chains.delete(key);
    else return failed;
    return ok;
  }

  return {
    chains,
    changes,
    run: async (command, args, input = "") => {
      const line = [command, ...args].join(" ");
      if (command === "ip") {
        changes.push(line);
        return ok;
      }
      if (!installed.includes(command.replace(/-(save|restore)$/, "")))
        return { code: undefined, stdout: "", stderr: `${command}: not found` };
      if (command.endsWith("-save")) return { ...ok, stdout: formatSave(chains) };
      if (!args.includes("-C")) changes.push(line);
      return command.endsWith("-restore") ? restore(input) : edit(args);
    },
  };
}

function formatSave(chains: ReadonlyMap<string, readonly string[]>): string {
  const tables = new Set([...chains.keys()].map((key) => key.split(" ")[0] ?? ""));
  const of = (table: string): [string, readonly string[]][] =>
    [...chains].flatMap(([key, rules]) => (key.startsWith(`${table} `) ? [[key.slice(table.length + 1), rules]] : []));
  return [...tables]
    .map((table) =>
      [
        `*${table}`,
        ...of(table).map(([chain]) => `:${chain} - [0:0]`),
        ...of(table).flatMap(([chain, rules]) => rules.map((r) => `-A ${chain} ${r}`)),
        "COMMIT",
        "",
      ].join("\n"),
    )
    .join("");
}
