import { check, type Check, formatChecks, type Question } from "@istiod/authorization";
import { SettingsCommand } from "@istiod/settings/command";
import { Command, Option } from "commander";
import { absentFiles } from "../absent-files.js";
import { questionParameters } from "../debug/authz-command.js";
import { meshFlags, type MeshFlags } from "../flags/mesh-flags.js";
import { readMesh } from "../offline-mesh.js";
import { dryRunCommand } from "./authz-dry-run.js";

interface CheckValues extends MeshFlags {
  readonly from: string;
  readonly to: string;
  readonly method?: string;
  readonly path?: string;
  readonly host?: string;
  readonly header: readonly string[];
  readonly jwt?: string;
  readonly sni?: string;
  readonly sourceIp?: string;
  readonly remoteIp?: string;
  readonly filterMetadata: readonly string[];
  readonly istiod?: string;
  readonly output: "text" | "json";
}

/** Exit statuses of `istiod authz check`; errors exit with 2. */
export const authzExits = {
  /** Every workload allows it. */
  allowed: 0,
  /** A workload denies it. */
  denied: 1,
  /** An external provider decides, or keys that are not available here. */
  undecided: 3,
} as const;

/** The streams of `istiod authz`. */
export interface AuthzOutput {
  readonly print: (text: string) => void;
  readonly warn: (text: string) => void;
  readonly exit: (status: number) => void;
}

/** `istiod authz`: what the policies of a mesh decide. */
export function authzCommand(env: NodeJS.ProcessEnv, output: AuthzOutput): Command {
  return new Command("authz")
    .description("Try the policies of a mesh.")
    .addCommand(checkCommand(env, output))
    .addCommand(dryRunCommand(output));
}

function checkCommand(env: NodeJS.ProcessEnv, { print, warn, exit }: AuthzOutput): Command {
  const repeatable = (value: string, before: readonly string[]): readonly string[] => [...before, value];
  const command = new SettingsCommand("check")
    .description(
      "Print whether a connection or request would be allowed, which policy decides, and why the others do not match. Exits with 0 if allowed, 1 if denied, 2 on errors, 3 if an external provider or keys that are not available decide.",
    )
    .requiredOption(
      "--from <caller>",
      "caller: name.namespace of a Pod or workload, namespace/name of a service account, a SPIFFE ID, or none (plaintext)",
    )
    .requiredOption("--to <destination>", "destination: name.namespace of a Pod, workload or service, with :port")
    .option("--method <method>", "HTTP method (default: GET)")
    .option("--path <path>", "path with query as the caller sends it (default: /)")
    .option("--host <host>", "Host header (default: the service's hostname and port)")
    .addOption(
      new Option("--header <header>", "request header, name: value; repeatable").default([], "").argParser(repeatable),
    )
    .option("--jwt <token>", "JSON Web Token that the request carries where its JWT rule expects it")
    .option("--sni <name>", "server name of the TLS handshake (default: as a sidecar sends it)")
    .option("--source-ip <address>", "address of the direct peer (default: the caller's Pod)")
    .option("--remote-ip <address>", "address of the original client (default: from X-Forwarded-For)")
    .addOption(
      new Option("--filter-metadata <entry>", "metadata of another filter, filter[key]=value; repeatable")
        .default([], "")
        .argParser(repeatable),
    )
    .option(
      "--istiod <url>",
      "ask a running istiod at its --httpAddr, such as http://127.0.0.1:8080, instead of reading --configDir",
    )
    .addOption(new Option("-o, --output <format>", "output format").choices(["text", "json"]).default("text"));
  command.addSettings(meshFlags, env);
  return command.action(async (values: CheckValues) => {
    if (values.istiod === undefined) for (const sentence of await absentFiles(values)) warn(`${sentence}\n`);
    const question: Question = { ...values, headers: values.header };
    const checks =
      values.istiod === undefined
        ? await check((await readMesh(values, env)).database, question)
        : await askIstiod(values.istiod, question);
    print(values.output === "json" ? `${JSON.stringify(checks, undefined, 2)}\n` : formatChecks(checks));
    exit(exitOf(checks));
  });
}

/** The token and headers are secret, so the question travels in the body. */
async function askIstiod(base: string, question: Question): Promise<readonly Check[]> {
  const response = await fetch(new URL("/debug/authz", base), {
    method: "POST",
    headers: { "content-type": "application/x-www-form-urlencoded" },
    body: questionParameters(question).toString(),
  }).catch((cause: unknown) => {
    throw new Error(`--istiod ${base}: no response`, { cause });
  });
  if (!response.ok) throw new Error((await response.text()).trim());
  return (await response.json()) as readonly Check[];
}

function exitOf(checks: readonly Check[]): number {
  if (checks.some(({ decision }) => decision.outcome === "deny")) return authzExits.denied;
  const isUndecided = checks.some(
    ({ decision, token }) => decision.outcome === "external" || token.state === "unverified",
  );
  return isUndecided ? authzExits.undecided : authzExits.allowed;
}
