import { execFile } from "node:child_process";
import { createRequire } from "node:module";
import { promisify } from "node:util";
import { fileURLToPath } from "node:url";
import { type DescMessage, type FileRegistry, createFileRegistry, fromBinary } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";

/** The repository's definitions of Istio's API. */
export const PROTOS = fileURLToPath(new URL("../../../../proto/", import.meta.url));

const LARGEST_OUTPUT = 64 << 20;

/** Compiles the `.proto` files of a folder, with their comments and with the options that generated code omits. */
export async function readProtos(folder = PROTOS): Promise<FileRegistry> {
  const buf = createRequire(import.meta.url).resolve("@bufbuild/buf/bin/buf");
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [buf, "build", "--as-file-descriptor-set", "-o", "-#format=binpb"],
    { cwd: folder, encoding: "buffer", maxBuffer: LARGEST_OUTPUT },
  );
  return createFileRegistry(fromBinary(FileDescriptorSetSchema, stdout));
}

/** Returns all messages that are not nested in others, sorted by name. */
export function topLevelMessages(registry: FileRegistry): readonly DescMessage[] {
  return [...registry.files].flatMap((file) => file.messages).toSorted((a, b) => (a.typeName < b.typeName ? -1 : 1));
}
