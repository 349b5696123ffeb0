import { allKinds, decode, formatProblem, isIstioGroup, istioKinds, type Kind, readText } from "@istiod/config-schema";
import { describe, expect, test } from "vitest";

const document = ({ kind, group, versions: [version] }: Pick<Kind, "kind" | "group" | "versions">): object => ({
  apiVersion: group === "" ? version : `${group}/${version}`,
  kind,
  metadata: { name: "a", namespace: "shop", labels: { "istio.io/rev": "canary" } },
});
const isOfOtherRevision = (kind: Kind): boolean =>
  decode(document(kind), { kinds: allKinds, revision: "stable" }).some(
    (decoded) => decoded.outcome === "ignored" && decoded.other?.object.revision === "canary",
  );

describe("kinds of Istio, of whatever group", () => {
  test("are exactly those of which a label can give an object to another revision", () => {
    expect(allKinds.filter(isOfOtherRevision)).toEqual(istioKinds);
  });

  test.each(istioKinds.map((kind) => [`${kind.group} ${kind.kind}`, kind] as const))(
    "%s: another kind of the group is reported, as is the kind in another group of Istio",
    (_, kind) => {
      expect(isIstioGroup(kind.group)).toBe(true);
      for (const [wrong, path] of [
        [{ ...kind, kind: "Unrelated" }, "kind: is Unrelated"],
        [{ ...kind, group: "config.istio.io" }, `apiVersion: is config.istio.io/${kind.versions[0]}, expected`],
      ] as const)
        expect(
          readText(JSON.stringify(document(wrong)), "a.yaml").flatMap(({ problems }) => problems.map(formatProblem)),
        ).toEqual([expect.stringContaining(path)]);
    },
  );
});
