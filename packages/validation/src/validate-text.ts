import { type Decoded, parseYaml, type Problem, splitDocuments } from "@istiod/config-schema";
import { validate } from "./verdict.js";

/** The verdicts on the objects of a text. */
export interface TextVerdict {
  /** Objects of Istio's kinds. */
  readonly validated: number;
  /** Objects of other kinds, which are not validated. */
  readonly ignored: number;
  readonly problems: readonly Problem[];
}

/** Validates every document of a YAML or JSON text. Never throws because of the text. */
export function validateText(text: string, file: string): TextVerdict {
  const verdicts = splitDocuments(text).map((document) => {
    const parsed = parseYaml(document);
    if ("message" in parsed) return notYaml(file, parsed.line, parsed.message);
    const decoded = validate(parsed.value, { wordAt: parsed.wordAt });
    const isOurs = ({ kind, outcome }: Decoded): boolean => outcome !== "ignored" && kind !== undefined;
    return {
      validated: decoded.filter(isOurs).length,
      ignored: decoded.filter(({ outcome }) => outcome === "ignored").length,
      problems: decoded.flatMap(({ issues, path: at, subject }) =>
        issues.map(({ path, ...issue }): Problem => ({
          ...issue,
          file,
          line: parsed.lineOf(path),
          path: path.slice(at.length),
          ...(subject && { subject }),
        })),
      ),
    };
  });
  return {
    validated: verdicts.reduce((sum, { validated }) => sum + validated, 0),
    ignored: verdicts.reduce((sum, { ignored }) => sum + ignored, 0),
    problems: verdicts.flatMap(({ problems }) => problems),
  };
}

function notYaml(file: string, line: number, message: string): TextVerdict {
  const problem: Problem = { severity: "error", file, line, path: [], message: `is not YAML: ${message}` };
  return { validated: 0, ignored: 0, problems: [problem] };
}
