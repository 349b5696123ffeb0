import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

const fromRoot = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** Test configuration of every project: `npx vitest run` in its directory runs its tests, from the sources of all packages. */
export default defineConfig({
  cacheDir: fromRoot("node_modules/.vite"),
  resolve: { conditions: ["@istiod/source"] },
  ssr: { resolve: { conditions: ["@istiod/source"] } },
  test: {
    include: ["test/**/*.test.ts"],
    reporters: ["default", fromRoot("tools/test/counts-reporter.mjs")],
    setupFiles: [fromRoot("tools/test/late-hooks.mjs")],
    testTimeout: 30_000,
    hookTimeout: 60_000,
    // On a loaded machine, a process may not run for a second.
    expect: { poll: { timeout: 10_000 } },
    // Names what failed first. A counterexample of a property is a failure at once.
    retry: { count: 1, delay: 1000, condition: /^(?!Property failed)/ },
    pool: "forks",
    maxWorkers: 2,
  },
});
