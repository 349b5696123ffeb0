import { defineConfig } from "vitest/config";

export default defineConfig({
  resolve: { conditions: ["@istiod/source"] },
  ssr: { resolve: { conditions: ["@istiod/source"] } },
  test: {
    include: ["packages/*/test/**/*.test.ts", "apps/*/test/**/*.test.ts", "tools/*/test/**/*.test.ts"],
    reporters: ["default", "./tools/test/counts-reporter.mjs"],
    testTimeout: 30_000,
    hookTimeout: 60_000,
    pool: "forks",
    maxWorkers: 2,
  },
});
