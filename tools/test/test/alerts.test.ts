import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { parse } from "yaml";

const root = fileURLToPath(new URL("../../..", import.meta.url));
const read = (...path: string[]): string => readFileSync(join(root, ...path), "utf8");

interface Rules {
  readonly groups: readonly { readonly rules: readonly { readonly alert: string; readonly expr: string }[] }[];
}

/** Patterns of the names of instruments that istiod declares; a part that is computed matches any. */
function declaredMetrics(): readonly RegExp[] {
  const folders = readdirSync(join(root, "packages")).map((name) => join("packages", name, "src"));
  const files = [...folders, "apps/istiod/src"]
    .filter((folder) => existsSync(join(root, folder)))
    .flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
        .filter((name) => name.endsWith(".ts"))
        .map((name) => join(folder, name)),
    );
  return files.flatMap((file) =>
    [...read(file).matchAll(/\bname: ["`]([a-z][a-z0-9_]*(?:\$\{\w+\}[a-z0-9_]*)*)["`]/g)].map(
      ([, name = ""]) => new RegExp(`^${name.replaceAll(/\$\{\w+\}/g, "[a-z_]+")}$`),
    ),
  );
}

/** Returns the metrics of an expression: names that are neither functions nor labels. */
function metricsOf(expr: string): readonly string[] {
  const names = expr.replaceAll(/\bby \([^)]*\)|\{[^}]*\}|\[[^\]]*\]/g, "").match(/[a-z_][a-z0-9_]*(?!\w*\()/g) ?? [];
  return names.filter((name) => name.includes("_")).map((name) => name.replace(/_bucket$/, ""));
}

it("the rules for Prometheus name metrics that istiod declares, and docs/alerts.md tells of each", () => {
  const declared = declaredMetrics();
  const rules = (parse(read("manifests/alerts.yaml")) as Rules).groups.flatMap((group) => group.rules);
  expect(rules.length).toBeGreaterThan(5);
  for (const { alert, expr } of rules) {
    const metrics = metricsOf(expr);
    expect(metrics, alert).toHaveLength(1);
    expect(
      metrics.filter((name) => !declared.some((pattern) => pattern.test(name))),
      alert,
    ).toEqual([]);
    expect(read("docs/alerts.md")).toContain(alert);
  }
});
