import { check, type Check, formatChecks, type Question } from "@istiod/authorization";
import { distinctAnswers, formatSilent, type Gathered, httpReplicas, incompleteExit } from "@istiod/replicas";
import { SettingsCommand } from "@istiod/settings/command";
import { Command, Option } from "commander";
import { absentFiles } from "./absent-files.js";
import { questionParameters } from "@istiod/introspection";
import { meshFlags, type MeshFlags } from "./mesh-flags.js";
import type { OfflineMeshes } from "./offline-mesh.js";
import { istiodOption, noAnswer, unanswered } from "./control-plane-flags.js";
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
  readonly istiod: readonly string[];
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
  /** A replica does not answer, and the others do not deny it. */
  incomplete: incompleteExit,
} as const;

/** The streams of `istiod authz`. */
export interface AuthzOutput {
  readonly print: (text: string) => void;
  readonly warn: (text: string) => void;
  readonly exit: (status: number) => void;
}

/** `istiod authz`: what the policies of a mesh decide. */
export function authzCommand(meshes: OfflineMeshes, output: AuthzOutput): Command {
  return new Command("authz")
    .description("Try the policies of a mesh.")
    .addCommand(checkCommand(meshes, output))
    .addCommand(dryRunCommand(output));
}

function checkCommand({ env, readMesh }: OfflineMeshes, { print, warn, exit }: AuthzOutput): Command {
  const repeatable = (value: string, before: readonly string[]): readonly string[] => [...before, value];
  const command = new SettingsCommand("check")
    .description(
      "Print whether a connection or request would be allowed, which policy decides, and why the others do not match. Exits with 0 if allowed, 1 if denied, 2 on errors, 3 if an external provider or keys that are not available decide, 5 if a replica does not answer and the others do not deny it.",
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
    .addOption(
      istiodOption(
        "ask a running istiod at its --httpAddr, such as http://127.0.0.1:8080, and all its replicas, instead of reading --configDir",
      ),
    )
    .addOption(new Option("-o, --output <format>", "output format").choices(["text", "json"]).default("text"));
  command.addSettings(meshFlags, env);
  return command.action(async (values: CheckValues) => {
    const question: Question = { ...values, headers: values.header };
    if (values.istiod.length > 0) return askIstiod(values, question, { print, warn, exit });
    for (const sentence of await absentFiles(values)) warn(`${sentence}\n`);
    const checks = await check((await readMesh(values)).database, question);
    print(format(checks, values));
    exit(exitOf(checks));
  });
}

/**
 * Asks all replicas. Those that have read the same objects answer alike. Different answers are printed with the names
 * of the replicas, and a denial by one counts.
 */
async function askIstiod(values: CheckValues, question: Question, { print, warn, exit }: AuthzOutput): Promise<void> {
  const gathered = await httpReplicas(values.istiod)("authz", questionParameters(question));
  if (gathered.answers.length === 0) throw noAnswer(gathered);
  const distinct = distinctAnswers(gathered as Gathered<readonly Check[]>);
  for (const { replicas, answer } of distinct) {
    if (distinct.length > 1) warn(`${replicas.join(", ")}:\n`);
    print(format(answer, values));
  }
  const silent = unanswered(gathered);
  warn(formatSilent(silent));
  const exits = distinct.map(({ answer }) => exitOf(answer));
  if (exits.includes(authzExits.denied)) exit(authzExits.denied);
  else exit(silent.length > 0 ? authzExits.incomplete : Math.max(...exits));
}

function format(checks: readonly Check[], { output }: CheckValues): string {
  return output === "json" ? `${JSON.stringify(checks, undefined, 2)}\n` : formatChecks(checks);
}

function exitOf(checks: readonly Check[]): number {
  if (checks.some(({ decision }) => decision.outcome === "deny")) return authzExits.denied;
  const isUndecided = checks.some(
    ({ decision, token }) => decision.outcome === "external" || token.state === "unverified",
  );
  return isUndecided ? authzExits.undecided : authzExits.allowed;
}
