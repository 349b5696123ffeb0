import {
  booleanSetting,
  durationSetting,
  SettingError,
  splitFlagArguments,
  stringArraySetting,
  stringSetting,
} from "@istiod/settings";
import { booleanArgument, SettingsCommand } from "@istiod/settings/command";
import { InvalidArgumentError, Option } from "commander";
import fc from "fast-check";
import { describe, expect, it } from "vitest";

const known = [
  { name: "port", short: "p", isBoolean: false },
  { name: "dry-run", short: "n", isBoolean: true },
  { name: "verbose", short: "v", isBoolean: true },
];

describe("the syntax of flags", () => {
  it.each<[string[], [string, string][], string[]]>([
    [["--port", "1"], [["port", "1"]], []],
    [["--port=1"], [["port", "1"]], []],
    [["--port="], [["port", ""]], []],
    [["--port", "-1", "a"], [["port", "-1"]], ["a"]],
    [["-p", "1"], [["port", "1"]], []],
    [["-p1"], [["port", "1"]], []],
    [["-p=1"], [["port", "1"]], []],
    [["--dry-run", "a"], [["dry-run", "true"]], ["a"]],
    [["--dry-run", "false"], [["dry-run", "true"]], ["false"]],
    [["--dry-run=f"], [["dry-run", "f"]], []],
    [["-n=false", "a"], [["dry-run", "false"]], ["a"]],
    [
      ["-nvp1"],
      [
        ["dry-run", "true"],
        ["verbose", "true"],
        ["port", "1"],
      ],
      [],
    ],
    [["a", "-", "--", "--port", "1"], [], ["a", "-", "--port", "1"]],
    [
      ["--port=1", "--port=2"],
      [
        ["port", "1"],
        ["port", "2"],
      ],
      [],
    ],
  ])("%j", (argv, flags, args) => {
    expect(splitFlagArguments(argv, known)).toEqual({
      flags: flags.map(([name, text]) => ({ name, text })),
      args,
      unknown: [],
    });
  });

  it.each<[string[], string[], string[]]>([
    [["--other", "value", "a"], ["--other"], ["a"]],
    [["--other=value", "a"], ["--other=value"], ["a"]],
    [["--other", "--dry-run", "a"], ["--other"], ["a"]],
    [["-x", "value", "a"], ["-x"], ["a"]],
  ])("%j has unknown flags", (argv, unknown, args) => {
    expect(splitFlagArguments(argv, known)).toMatchObject({ unknown, args });
  });

  it("requires a value of flags that are not boolean, and a boolean of those that are", () => {
    expect(() => splitFlagArguments(["--port"], known)).toThrow("flag needs an argument: --port");
    expect(() => splitFlagArguments(["-n=maybe"], known)).toThrow(
      'invalid value "maybe" for -n: expected true or false',
    );
  });

  it("never fails with another error than SettingError", () => {
    const argument = fc.oneof(
      fc.string(),
      fc.constantFrom("--port", "--port=", "-p", "-n", "--dry-run=x", "--", "-", "-=", "--=", "--__proto__", "-nv="),
    );
    fc.assert(
      fc.property(fc.array(argument), (argv) => {
        try {
          splitFlagArguments(argv, known);
        } catch (error) {
          expect(error).toBeInstanceOf(SettingError);
        }
      }),
    );
  });
});

describe("a command with settings", () => {
  const table = {
    port: stringSetting({ flag: "port", short: "p", variable: "PORT", default: "80", help: "port" }),
    minVersion: stringSetting({ flag: "tls-min-version", aliases: ["tls-min"], default: "1.2", help: "TLS version" }),
    targets: stringArraySetting({ flag: "target", default: [], help: "targets" }),
    json: booleanSetting({ flag: "json", default: true, help: "JSON", ignored: "there is one format" }),
    period: durationSetting({ variable: "PERIOD", default: 1000, help: "period" }),
  };

  function parsed(argv: string[], env = {}): Record<string, unknown> {
    const command = new SettingsCommand().addSettings(table, env).exitOverride();
    return command.argument("[type]").parse(argv, { from: "user" }).opts();
  }

  it("has the values of flags, variables and defaults by property", () => {
    expect(parsed([])).toEqual({ port: "80", minVersion: "1.2", targets: [], json: true, period: 1000 });
    expect(parsed(["--tls-min=1.3", "--target", "a", "--json=0", "--target=b"], { PORT: "81", PERIOD: "1m" })).toEqual({
      port: "81",
      minVersion: "1.3",
      targets: ["a", "b"],
      json: false,
      period: 60_000,
    });
  });

  it("passes the argument after a boolean flag to the action", async () => {
    let type = "";
    const command = new SettingsCommand()
      .addSettings(table, {})
      .argument("[type]")
      .action((given: string) => void (type = given));
    await command.parseAsync(["--json", "sidecar", "-p", "1"], { from: "user" });
    expect(type).toBe("sidecar");
  });

  it("rejects unknown flags with the nearest name, or ignores them with a warning", () => {
    let error = "";
    const strict = new SettingsCommand().addSettings(table, {}).exitOverride();
    strict.configureOutput({ writeErr: (text) => (error += text) });
    expect(() => strict.parse(["--prt", "1"], { from: "user" })).toThrow("unknown option '--prt'");
    expect(error).toContain("(Did you mean --port?)");
    const tolerant = new SettingsCommand().addSettings(table, {}).tolerateUnknownFlags().allowExcessArguments();
    tolerant.parse(["--prt", "1", "--json=false", "--other=x"], { from: "user" });
    expect(tolerant.settingWarnings()).toEqual([
      "--json=false is ignored: there is one format",
      "unknown flag --prt is ignored; did you mean --port?",
      "unknown flag --other=x is ignored",
    ]);
  });

  it("has a help from the table", () => {
    const command = new SettingsCommand().addSettings(table, {}).configureHelp({ helpWidth: 200 });
    const help = command.helpInformation();
    expect(help).toContain("-p, --port <string>");
    expect(help).toContain("port (default: 80; variable: PORT)");
    expect(help).toContain("JSON (ignored: there is one format; default: true)");
    expect(help).not.toContain("PERIOD");
  });

  it("keeps options of commander", () => {
    const command = new SettingsCommand()
      .addSettings(table, {})
      .option("--quiet", "no output", false)
      .addOption(new Option("--color [bool]", "colors").argParser(booleanArgument).preset("true"));
    expect(command.parse(["--quiet", "--color", "--port=1"], { from: "user" }).opts()).toMatchObject({
      quiet: true,
      color: true,
      port: "1",
    });
    expect(() => booleanArgument("yes")).toThrow(InvalidArgumentError);
  });
});
