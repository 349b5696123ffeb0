import { Argument, Command } from "commander";

/** `istiod completion`: scripts by which shells complete the command line. */
export function completionCommand(program: Command, { print }: { readonly print: (text: string) => void }): Command {
  const shells: Readonly<Record<string, (name: string, words: readonly CommandWords[]) => string>> = {
    bash: bashScript,
    zsh: zshScript,
    fish: fishScript,
  };
  return new Command("completion")
    .description("Print the script by which a shell completes the command line: source <(istiod completion bash).")
    .addArgument(new Argument("<shell>", "the shell").choices(Object.keys(shells)))
    .action((shell: string) => print(shells[shell]?.(program.name(), commandWords(program)) ?? ""));
}

/** The words that may follow a command. */
interface CommandWords {
  /** Names of the command and those above it, without the program's. */
  readonly path: readonly string[];
  readonly commands: readonly { readonly name: string; readonly about: string }[];
  readonly flags: readonly string[];
}

function commandWords(command: Command, path: readonly string[] = []): CommandWords[] {
  const { commands } = command;
  const names = (each: Command): readonly string[] => [each.name(), ...each.aliases()];
  const own: CommandWords = {
    path,
    commands: commands.flatMap((each) => names(each).map((name) => ({ name, about: commandSummary(each) }))),
    flags: [...command.options.flatMap(({ long }) => long ?? []), "--help"],
  };
  return [own, ...commands.flatMap((each) => names(each).flatMap((name) => commandWords(each, [...path, name])))];
}

/** Returns the first clause of a command's description: its line in lists of commands. */
export function commandSummary(command: Command): string {
  const text = command.description();
  return /^.*?(?=[.,;:](\s|$)|$)/.exec(text)?.[0] ?? text;
}

function bashScript(name: string, words: readonly CommandWords[]): string {
  const cases = words.map(({ path, commands, flags }) => {
    const all = [...commands.map((command) => command.name), ...flags].join(" ");
    return `    "${path.join(" ")}") words="${all}" ;;`;
  });
  const paths = words.filter(({ path }) => path.length > 0).map(({ path }) => `"${path.join(" ")}"`);
  return `_${name}() {
  local path="" next words="" word i
  for ((i = 1; i < COMP_CWORD; i++)); do
    next="\${path:+$path }\${COMP_WORDS[i]}"
    case "$next" in
    ${paths.join(" | ")}) path="$next" ;;
    esac
  done
  word="\${COMP_WORDS[COMP_CWORD]}"
  case "$path" in
${cases.join("\n")}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}
complete -o default -F _${name} ${name}
`;
}

function zshScript(name: string, words: readonly CommandWords[]): string {
  return `autoload -U +X bashcompinit && bashcompinit\n${bashScript(name, words)}`;
}

function fishScript(name: string, words: readonly CommandWords[]): string {
  const lines = words.flatMap(({ path, commands, flags }) => {
    const condition = path.map((word) => `__fish_seen_subcommand_from ${word}`);
    const others =
      commands.length === 0 ? [] : [`not __fish_seen_subcommand_from ${commands.map((each) => each.name).join(" ")}`];
    const at = (conditions: readonly string[]): string =>
      conditions.length === 0 ? "" : ` -n '${conditions.join("; and ")}'`;
    return [
      ...commands.map(
        (each) => `complete -c ${name}${at([...condition, ...others])} -f -a ${each.name} -d ${quoted(each.about)}`,
      ),
      ...flags.map((flag) => `complete -c ${name}${at(condition)} -l ${flag.replace(/^--/, "")}`),
    ];
  });
  return `${lines.join("\n")}\n`;
}

function quoted(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}
