import { statusCommand } from "@istiod/commands";

/** Runs `istiod status` against a running istiod. */
export async function runStatus(
  istiod: { readonly http: string },
  ...args: readonly string[]
): Promise<{ readonly exit: number | undefined; readonly text: string }> {
  let exit: number | undefined;
  let text = "";
  const command = statusCommand({
    print: (more) => (text += more),
    warn: (more) => (text += more),
    exit: (code) => (exit = code),
  });
  await command.parseAsync([...args, "--istiod", istiod.http], { from: "user" });
  return { exit, text };
}
