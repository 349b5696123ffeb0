/** One command of a block, as a person would type it. */
export interface PageCommand {
  /** Line of the page, from 1. */
  readonly line: number;
  readonly text: string;
  /** Output that the page shows below the command; undefined where it shows none. */
  readonly output?: readonly string[];
}

/** A fenced block of commands in a page. */
export interface CommandBlock {
  /** Line of the fence, from 1. */
  readonly line: number;
  readonly commands: readonly PageCommand[];
  readonly markers: Markers;
}

/** Words after the language in a fence's info string. */
export interface Markers {
  /** The block's last command goes on running: the next blocks are for another terminal. */
  readonly background: boolean;
  /** URL that answers 200, or `file:PATH` of a file that exists, before the next command is typed. */
  readonly ready?: string;
  /** Exit status of the block's last command. */
  readonly exit: number;
  /** The reason for which the block is not run. */
  readonly skip?: string;
  /** The file that shows the block's commands to work, where that is the reason. */
  readonly coveredBy?: string;
  readonly needsEnvoy: boolean;
  /** Needs the API server of tools/cluster, and kubectl. */
  readonly needsCluster: boolean;
}

const languages = new Set(["", "sh", "bash", "console"]);

/** Prerequisites of a block that a test does not set up. */
const needs: Readonly<Record<string, string>> = {
  kubernetes: "needs a Kubernetes cluster",
  istioctl: "needs istioctl",
  root: "needs root, and changes the machine",
  demo: "needs the demo to run (npm start)",
  shared: "needs the recorded meshes beside the repository",
};

/** Programs that pages call. */
const programs = new Set(
  "npx npm node istiod pilot-agent istioctl kubectl helm docker curl python3 pip git mkdir cp mv rm cat echo printf sed head tail grep jq openssl export cd ls diff kill wait sleep envoy".split(
    " ",
  ),
);

/** Programs that change the machine or a cluster, or need one of these. */
const outsideProgram =
  /^(?:npx )?(?<program>kubectl|helm|docker|istioctl|npm|pilot-agent istio-iptables(?!.*--dry-run))(?= |$)/;

const requiredMarker: Readonly<Record<string, string>> = {
  npm: "setup, slow or covered=FILE",
  istioctl: "needs=istioctl",
  "pilot-agent istio-iptables": "needs=root",
};

/** Reports whether a line begins with a program that pages call, or with variables that are set for one. */
function startsWithCommand(line: string): boolean {
  const rest = line.replace(/^(?:[A-Z_]+=(?:'[^']*'|"[^"]*"|\S*) +)+/, "");
  return programs.has(rest.split(/\s/, 1)[0] ?? "") || (rest === "\\" && rest !== line);
}

/**
 * Returns the blocks of commands of a page: fences without a language that begin with `$ ` or with a command, and all
 * fences of a shell.
 *
 * @throws Error with the page's line where an info string has a marker that is none.
 */
export function commandBlocks(page: string, text: string): readonly CommandBlock[] {
  const blocks: CommandBlock[] = [];
  const lines = text.split("\n");
  for (let at = 0; at < lines.length; at++) {
    const fence = /^( *)```+(.*)$/.exec(lines[at] ?? "");
    if (fence === null) continue;
    const start = at + 1;
    const indent = fence[1]?.length ?? 0;
    const body: string[] = [];
    for (at++; at < lines.length && !/^ *```+ *$/.test(lines[at] ?? ""); at++)
      body.push((lines[at] ?? "").slice(indent));
    const [language = "", ...words] = (fence[2] ?? "").trim().split(/\s+/);
    if (!languages.has(language)) continue;
    const first = body[0] ?? "";
    if (language === "" && !first.startsWith("$ ") && !startsWithCommand(first)) continue;
    const block = { line: start, commands: commandsOf(body, start + 1), markers: markersOf(words, `${page}:${start}`) };
    const { background, ready, skip, needsCluster } = block.markers;
    const outside = block.commands
      .map(({ text: typed }) => outsideProgram.exec(typed)?.groups?.["program"])
      .find((program) => program !== undefined && !(needsCluster && program === "kubectl"));
    if (outside !== undefined && !skip)
      throw new Error(
        `${page}:${start}: ${outside} acts on things outside of the test; mark the block by ${requiredMarker[outside] ?? "needs=kubernetes"}`,
      );
    if ((background || block.commands.some(({ text: typed }) => /[^&]&$/.test(typed))) && !ready && !skip) {
      throw new Error(
        `${page}:${start}: a command in the background needs the marker ready=URL, by which the test sees that it runs`,
      );
    }
    blocks.push(block);
  }
  return blocks;
}

function markersOf(words: readonly string[], place: string): Markers {
  let markers: Markers = { background: false, exit: 0, needsEnvoy: false, needsCluster: false };
  for (const word of words) {
    const [name = "", value = ""] = word.split(/=(.*)/s);
    if (name === "background" && value === "") markers = { ...markers, background: true };
    else if (name === "ready" && URL.canParse(value)) markers = { ...markers, ready: value };
    else if (name === "exit" && /^\d+$/.test(value)) markers = { ...markers, exit: Number(value) };
    else if (word === "setup") markers = { ...markers, skip: "sets up the checkout, without which no test runs" };
    else if (name === "slow" && value === "") markers = { ...markers, skip: "takes long" };
    else if (name === "covered" && value !== "")
      markers = { ...markers, skip: `covered by ${value}`, coveredBy: value };
    else if (word === "needs=envoy") markers = { ...markers, needsEnvoy: true };
    else if (word === "needs=cluster") markers = { ...markers, needsCluster: true };
    else if (name === "needs" && value in needs) markers = { ...markers, skip: needs[value] ?? "" };
    else
      throw new Error(
        `${place}: ${word} is no marker of a command block: background, ready=URL, exit=N, setup, slow, covered=FILE or needs=${["envoy", "cluster", ...Object.keys(needs)].join("|")}`,
      );
  }
  return markers;
}

/** With prompts, everything that is not typed is output; without, every line is typed. */
function commandsOf(body: readonly string[], firstLine: number): readonly PageCommand[] {
  const prompts = body.some((line) => line.startsWith("$ "));
  const commands: { line: number; text: string; output?: string[] }[] = [];
  let open: string | undefined;
  for (const [i, line] of body.entries()) {
    const last = commands.at(-1);
    if (open !== undefined && last) {
      last.text += `\n${line.startsWith("> ") && prompts ? line.slice(2) : line}`;
    } else if (line.startsWith("$ ") || (!prompts && line.trim() !== "" && !line.startsWith("#"))) {
      commands.push({ line: firstLine + i, text: prompts ? line.slice(2) : line });
    } else if (prompts && last) {
      (last.output ??= []).push(line);
    }
    open = unfinished(commands.at(-1)?.text ?? "");
  }
  return commands.map(({ line, text, output }) => ({
    line,
    text,
    ...(output?.some((shown) => shown.trim() !== "") && { output }),
  }));
}

/** Returns what the last typed line waits for: a line after a backslash, the end of a here-document or of a loop. */
function unfinished(text: string): string | undefined {
  if (text.endsWith("\\")) return "\\";
  const document = /<<-?\s*['"]?(\w+)['"]?/.exec(text)?.[1];
  if (document !== undefined && !text.split("\n").slice(1).includes(document)) return document;
  return /^for .*; do$/m.test(text) && !/^done$/m.test(text) ? "done" : undefined;
}
