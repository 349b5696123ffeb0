import { changeCommands, type ChangeCommandsOptions, type DebugRequest } from "@istiod/introspection";
import { expect, test } from "vitest";

test("a change that is committed while statuses are computed counts as not committed", async () => {
  let isCommitted = false;
  const commands = changeCommands({
    changes: { recentObjects: () => [] },
    status: {
      database: {
        get revision() {
          isCommitted = true;
          return 1;
        },
      },
    },
    clients: () => [],
    problems: () => [],
    analysis: { findings: async () => [], newFindings: async () => [], place: async () => [] },
    gathering: () => !isCommitted,
    unread: async () => [],
  } as unknown as ChangeCommandsOptions);
  const request = { query: new URLSearchParams() } as DebugRequest;
  const answer = await commands.find((command) => command.name === "status")?.answer(request);
  expect(answer).toMatchObject({ json: { gathering: true } });
});
