import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Closers } from "@istiod/runtime";

/** Creates a temporary directory for one mesh, and defers its removal. */
export async function createWorkDirectory(closers: Closers): Promise<string> {
  const work = await mkdtemp(join(tmpdir(), "istiod-e2e-"));
  closers.defer(() => rm(work, { recursive: true, force: true }));
  return work;
}
