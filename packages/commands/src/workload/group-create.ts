import { formatProblem } from "@istiod/config-schema";
import { SettingsCommand } from "@istiod/settings/command";
import { validateText } from "@istiod/validation";
import { type Command, InvalidArgumentError, Option } from "commander";
import { stringify } from "yaml";

interface GroupFlags {
  readonly name: string;
  readonly namespace: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly ports: Readonly<Record<string, string>>;
  readonly serviceAccount: string;
  readonly network?: string;
  readonly locality?: string;
  readonly weight?: number;
}

/** `istiod workload group create`: prints a WorkloadGroup. */
export function groupCreateCommand(print: (text: string) => void): Command {
  return new SettingsCommand("create")
    .description("Print a WorkloadGroup, the template of the WorkloadEntries of a workload.")
    .requiredOption("--name <name>", "name of the WorkloadGroup")
    .requiredOption("-n, --namespace <namespace>", "namespace of the workload")
    .addOption(pairs("-l, --labels <labels>", "labels of the workload, such as app=web,version=v1"))
    .addOption(pairs("-a, --annotations <annotations>", "annotations of the workload"))
    .addOption(pairs("-p, --ports <ports>", "ports of the workload, such as http=8080,grpc=3550"))
    .option("-s, --serviceAccount <name>", "service account of the workload", "default")
    .option("--network <network>", "network of the workload")
    .option("--locality <locality>", "locality of the workload: region/zone/subzone")
    .addOption(new Option("-w, --weight <weight>", "weight in load balancing").argParser(wholeNumber))
    .action((flags: GroupFlags) =>
      print(validated(stringify(workloadGroup(flags), { lineWidth: 0, sortMapEntries: true }))),
    );
}

/** Returns an object in YAML if istiod accepts it. @throws Error with the first problem otherwise */
function validated(text: string): string {
  const problem = validateText(text, "flags").problems.find(({ severity }) => severity === "error");
  if (problem !== undefined) throw new Error(formatProblem(problem));
  return text;
}

function workloadGroup(flags: GroupFlags): object {
  const { name, namespace, labels, annotations, serviceAccount, network, locality, weight } = flags;
  const ports = Object.entries(flags.ports).map(([port, value]) => {
    const number = Number(value);
    if (!/^\d+$/.test(value) || number < 1 || number > 65535)
      throw new Error(`--ports ${port}=${value}: expected a port between 1 and 65535`);
    return [port, number] as const;
  });
  return {
    apiVersion: "networking.istio.io/v1",
    kind: "WorkloadGroup",
    metadata: { name, namespace },
    spec: {
      metadata: { ...nonEmpty({ labels }), ...nonEmpty({ annotations }) },
      template: {
        ...nonEmpty({ ports: Object.fromEntries(ports) }),
        serviceAccount,
        ...(network && { network }),
        ...(locality && { locality }),
        ...(weight && { weight }),
      },
    },
  };
}

/** Leaves out fields without entries. */
function nonEmpty(fields: Readonly<Record<string, object>>): object {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => Object.keys(value).length > 0));
}

function pairs(flags: string, description: string): Option {
  return new Option(flags, `${description}; repeatable`)
    .default({}, "")
    .argParser((value: string, before: Readonly<Record<string, string>>) => {
      const entries = value.split(",").map((pair) => {
        const [, key, text] = /^([^=]+)=(.*)$/.exec(pair) ?? [];
        if (key === undefined || text === undefined) throw new InvalidArgumentError("expected name=value,name=value");
        return [key, text] as const;
      });
      const names = [...Object.keys(before), ...entries.map(([key]) => key)];
      const twice = names.find((name, i) => names.indexOf(name) !== i);
      if (twice !== undefined) throw new InvalidArgumentError(`${twice} is given twice`);
      return { ...before, ...Object.fromEntries(entries) };
    });
}

function wholeNumber(value: string): number {
  if (!/^[1-9]\d{0,8}$/.test(value)) throw new InvalidArgumentError("expected a whole number of at least 1");
  return Number(value);
}
