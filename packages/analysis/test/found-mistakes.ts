import { describe, expect, it } from "vitest";
import { analyzeAdded } from "./messages-of.js";

/** Documents, and the finding that they must lead to: its code, the line that it is at, and a part of its message. */
export type Mistake = readonly [documents: string, code: string, at: string, says: string];

/** Tests that each mistake is found where it is, if it is added to a mesh that has none. */
export function describeMistakes(mesh: string, mistakes: Readonly<Record<string, Mistake>>): void {
  describe("each of these mistakes is found where it is", () => {
    it("and nothing is found without them", () => expect(analyzeAdded(mesh, "")).toEqual([]));

    it.each(Object.entries(mistakes))("%s", (_, [documents, code, at, says]) => {
      const lines = documents.split("\n");
      const found = analyzeAdded(mesh, documents).map((message) => ({
        code: message.code,
        at: lines[Number(message.reference?.replace("new.yaml:", "")) - 1]?.trim(),
        message: message.message,
      }));
      expect(found).toContainEqual({ code, at, message: expect.stringContaining(says) as string });
    });
  });
}
