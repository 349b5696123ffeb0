import { parseArgs } from "node:util";

export interface DemoOptions {
  /** Added to every port; `auto`: the first offset at which all ports are free. */
  readonly portOffset: number | "auto";
  /** Print the access log of requests that are not the demo's own. */
  readonly accessLog: boolean;
  /** Directory of YAML, absolute or relative to the working directory; absent: the Bookinfo sample. */
  readonly config: string | undefined;
}

const table = {
  "port-offset": {
    type: "string",
    default: "0",
    value: "N",
    help: "add N to every port; auto: the first N at which all ports are free",
  },
  "access-log": {
    type: "boolean",
    default: false,
    value: "",
    help: "print what the proxies log of requests other than the demo's own",
  },
  config: {
    type: "string",
    default: "",
    value: "DIR",
    help: "directory of YAML to serve, in place of samples/bookinfo",
  },
  "no-build": { type: "boolean", default: false, value: "", help: "run what is built already" },
  help: { type: "boolean", default: false, value: "", help: "print this help" },
} as const;

/** The highest port of the demo is 15090. */
const HIGHEST_OFFSET = 65_535 - 15_090;

/** @returns `undefined` where help is asked for @throws Error naming the flag and the value */
export function readOptions(args: readonly string[]): DemoOptions | undefined {
  const { values } = parseArgs({ args: [...args], options: table, strict: true, allowPositionals: false });
  if (values.help) return undefined;
  return {
    portOffset: readOffset(values["port-offset"]),
    accessLog: values["access-log"],
    config: values.config || undefined,
  };
}

export function usage(): string {
  const lines = Object.entries(table).map(([name, { value, help }]) => `  ${`--${name} ${value}`.padEnd(18)}  ${help}`);
  return `usage: npm start -- [flags]\n${lines.join("\n")}\n`;
}

function readOffset(text: string): number | "auto" {
  if (text === "auto") return text;
  const offset = Number(text);
  if (!/^\d+$/.test(text) || offset > HIGHEST_OFFSET)
    throw new Error(`--port-offset: ${JSON.stringify(text)} must be between 0 and ${HIGHEST_OFFSET}, or auto`);
  return offset;
}
