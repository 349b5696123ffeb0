import { applied, isReviewed, type Mistake, recordedMistakes, type Said } from "@istiod/bench";
import { expect, test } from "vitest";

/** Why the webhooks say nothing of a mistake, by the name of its test. */
const unsaid: Readonly<Record<string, string>> = {
  "a boolean where a string is expected": "other words: a webhook sees JSON, without the word of YAML",
  "what looks alike is right > a filter in Lua": "other words: validation warns of each EnvoyFilter",
  "an object that is defined twice": "an API server has one object of each name",
  "a misspelled namespace": "an API server refuses objects in a namespace that does not exist",
  "a service without workloads": "workloads are mostly applied after their Service",
  "a revision > is that of an injection webhook": "the injection webhooks are applied after the object",
  "a gateway's Secret that does not exist": "without the Pods of a gateway, its namespace is not known",
  "an exportTo that hides a route from its gateway": "without the Pods of a gateway, its namespace is not known",
};

test("each mistake is said when it is applied, or is known to be unsaid", { timeout: 600_000 }, async (context) => {
  const mistakes = await recordedMistakes();
  const silent: Mistake[] = [];
  for (const mistake of mistakes) {
    const said = await applied(mistake);
    if (!isSaid(mistake, said)) silent.push(mistake);
  }
  const reasons = silent.map((mistake) => [mistake.test, reasonOf(mistake) ?? unsaid[mistake.test]] as const);
  expect(reasons.filter(([, reason]) => reason === undefined).map(([name]) => name)).toEqual([]);
  expect(Object.keys(unsaid).filter((name) => !reasons.some(([other]) => other === name))).toEqual([]);
  await context.annotate(`${mistakes.length} mistakes, of which ${silent.length} are unsaid: ${counts(reasons)}`);
});

/** Returns why the webhooks cannot say a mistake, if it is the same for all mistakes of its kind. */
function reasonOf({ messages }: Mistake): string | undefined {
  const above = messages.filter(({ level }) => level !== "Info");
  if (above.length === 0) return "findings of level Info are not warnings";
  const kinds = above.map(({ origin = "" }) => origin.slice(0, origin.indexOf(" ")));
  return kinds.every((kind) => unreviewed.has(kind)) ? "no webhook reviews the kind" : undefined;
}

/** Kinds of findings that no webhook reviews. Secrets are not sent to more programs than need them. */
const unreviewed: ReadonlySet<string> = new Set(["Secret"]);

test("and the webhooks review the kinds of which a chart asks for reviews", () => {
  expect(["Secret", "ConfigMap"].filter((kind) => isReviewed(kind, ""))).toEqual([]);
  expect(["Namespace", "Pod", "Service"].filter((kind) => !isReviewed(kind, ""))).toEqual([]);
  expect(isReviewed("Ingress", "networking.k8s.io")).toBe(true);
});

/** Reports whether one of the messages is a line about one of the objects, or one is refused. */
function isSaid({ messages }: Mistake, said: readonly Said[]): boolean {
  const lines = said.flatMap((each) => each.lines);
  const isAbout = (kind: string): boolean =>
    kind === "" || messages.some(({ origin }) => origin === undefined || origin.startsWith(`${kind} `));
  return (
    said.some(({ isRefused, kind }) => isRefused && isAbout(kind)) ||
    messages.some(({ message }) => lines.some((line) => line.includes(withoutSuggestion(message))))
  );
}

/** Suggestions depend on the ingress gateway that is assumed for files. */
function withoutSuggestion(message: string): string {
  return message.replace(/; did you mean.*/, "");
}

function counts(reasons: readonly (readonly [name: string, reason: string | undefined])[]): string {
  const distinct = [...new Set(reasons.map(([, reason]) => reason))];
  return distinct.map((reason) => `${reasons.filter(([, each]) => each === reason).length} ${reason}`).join("; ");
}
