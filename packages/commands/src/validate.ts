import { type NamedText, readObjectFiles } from "@istiod/config-ingestion";
import { formatPath, formatProblem, type Problem } from "@istiod/config-schema";
import { type TextVerdict, validateText } from "@istiod/validation";
import { Command, Option } from "commander";

interface ValidateValues {
  readonly filename: readonly string[];
  readonly output: "text" | "json";
}

/** The streams of `istiod validate`. */
export interface ValidateOutput {
  print(text: string): void;
  exit(status: number): void;
  /** Reads standard input to its end. */
  stdin(): Promise<string>;
}

/** Exit statuses of `istiod validate`. */
const exits = { valid: 0, invalid: 1 } as const;

/** `istiod validate`: the verdicts of the validation webhook on objects in files. */
export function validateCommand({ print, exit, stdin }: ValidateOutput): Command {
  return new Command("validate")
    .alias("v")
    .description("Validate Istio's objects in files as the validation webhook does.")
    .argument("[files...]", "files and directories of YAML or JSON; - reads standard input")
    .addOption(
      new Option("-f, --filename <file>", "file or directory to validate, or - for standard input; repeatable")
        .default([], "")
        .argParser((value: string, before: readonly string[]) => [...before, value]),
    )
    .addOption(new Option("-o, --output <format>", "output format").choices(["text", "json"]).default("text"))
    .action(async (files: readonly string[], { filename, output }: ValidateValues) => {
      const named = [...filename, ...files];
      if (named.length === 0) throw new Error("no files to validate: give files, directories, or - for standard input");
      const read = async (path: string): Promise<readonly NamedText[]> =>
        path === "-" ? [{ file: "-", text: await stdin() }] : readObjectFiles(path);
      const texts = (await Promise.all(named.map(read))).flat();
      const verdicts = texts.map(({ file, text }) => ({ file, ...validateText(text, file) }));
      print(output === "json" ? `${JSON.stringify(jsonOf(verdicts), undefined, 2)}\n` : textOf(verdicts));
      exit(verdicts.every(isValid) ? exits.valid : exits.invalid);
    });
}

type FileVerdict = TextVerdict & { readonly file: string };

function isValid({ problems }: TextVerdict): boolean {
  return !problems.some(({ severity }) => severity === "error");
}

function textOf(verdicts: readonly FileVerdict[]): string {
  return verdicts
    .flatMap((verdict) => [
      ...verdict.problems.map((problem) => `${problem.severity}: ${formatProblem(problem)}`),
      ...(isValid(verdict) ? [`${JSON.stringify(verdict.file)} is valid`] : []),
    ])
    .map((line) => `${line}\n`)
    .join("");
}

function jsonOf(verdicts: readonly FileVerdict[]): object {
  return verdicts.map((verdict) => ({
    file: verdict.file,
    valid: isValid(verdict),
    validated: verdict.validated,
    ignored: verdict.ignored,
    problems: verdict.problems.map(problemJson),
  }));
}

function problemJson({ severity, line, subject, path, message }: Problem): object {
  const { kind, namespace, name } = subject ?? {};
  return {
    severity,
    line,
    ...(subject && { kind, ...(namespace !== "" && { namespace }), name }),
    ...(path.length > 0 && { field: formatPath(path) }),
    message,
  };
}
