import { defineConfig } from "vitest/config";

export default defineConfig({
  resolve: { conditions: ["@istiod/source"] },
  ssr: { resolve: { conditions: ["@istiod/source"] } },
  test: {
    include: ["packages/*/test/**/*.test.ts", "apps/*/test/**/*.test.ts", "tools/*/test/**/*.test.ts"],
    testTimeout: 30_000,
    pool: "forks",
  },
});
