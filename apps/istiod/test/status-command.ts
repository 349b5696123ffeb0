import { statusCommand } from "@istiod/commands";
import { offlineMeshes } from "../src/offline-mesh.js";

/** Runs `istiod status` against a running istiod. */
export async function runStatus(
  istiod: { readonly http: string },
  ...args: readonly string[]
): Promise<{ readonly exit: number | undefined; readonly text: string }> {
  let exit: number | undefined;
  let text = "";
  const command = statusCommand(offlineMeshes({}), {
    print: (more) => (text += more),
    warn: (more) => (text += more),
    exit: (code) => (exit = code),
  });
  await command.parseAsync([...args, "--istiod", istiod.http], { from: "user" });
  return { exit, text };
}
